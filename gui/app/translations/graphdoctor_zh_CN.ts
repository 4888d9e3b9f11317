<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN" sourcelanguage="en">
<context>
    <name>gd::gui::CompareModel</name>
    <message>
        <source>What to bear in mind</source>
        <translation>注意事项</translation>
    </message>
    <message>
        <source>%1 (%2 times)</source>
        <translation>%1（%2 次）</translation>
    </message>
    <message>
        <source>%1 – %2</source>
        <translation>%1 – %2</translation>
    </message>
    <message>
        <source>%1, rank %2</source>
        <translation>%1，rank %2</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1：%2</translation>
    </message>
    <message>
        <source>%1: base %2, new %3, %4</source>
        <translation>%1：基准 %2，新 %3，%4</translation>
    </message>
    <message>
        <source>Median of steady state</source>
        <translation>稳态中位数</translation>
    </message>
    <message>
        <source>Base</source>
        <translation>基准</translation>
    </message>
    <message>
        <source>New</source>
        <translation>新</translation>
    </message>
    <message>
        <source>Difference</source>
        <translation>差值</translation>
    </message>
    <message>
        <source>Relative</source>
        <translation>相对差</translation>
    </message>
    <message>
        <source>Verdict</source>
        <translation>结论</translation>
    </message>
</context>
<context>
    <name>gd::gui::CompareWindow</name>
    <message>
        <source>Only what &amp;changed</source>
        <translation>只看变化（&amp;C）</translation>
    </message>
    <message>
        <source>GraphDoctor</source>
        <translation>GraphDoctor</translation>
    </message>
    <message>
        <source>What differs</source>
        <translation>差异</translation>
    </message>
    <message>
        <source>Differences</source>
        <translation>差异</translation>
    </message>
    <message>
        <source>No traces are open.</source>
        <translation>尚未打开追踪文件。</translation>
    </message>
    <message>
        <source>Timeline of the base</source>
        <translation>基准的时间线</translation>
    </message>
    <message>
        <source>Timeline of the new trace</source>
        <translation>新追踪的时间线</translation>
    </message>
    <message>
        <source>&amp;File</source>
        <translation>文件（&amp;F）</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>退出</translation>
    </message>
    <message>
        <source>&amp;Move</source>
        <translation>移动（&amp;M）</translation>
    </message>
    <message>
        <source>Next step</source>
        <translation>下一步</translation>
    </message>
    <message>
        <source>Step before</source>
        <translation>上一步</translation>
    </message>
    <message>
        <source>This step</source>
        <translation>显示当前步</translation>
    </message>
    <message>
        <source>Both traces as a whole</source>
        <translation>完整显示两个追踪</translation>
    </message>
    <message>
        <source>Zoom in</source>
        <translation>放大</translation>
    </message>
    <message>
        <source>Zoom out</source>
        <translation>缩小</translation>
    </message>
    <message>
        <source>Earlier</source>
        <translation>向前</translation>
    </message>
    <message>
        <source>Later</source>
        <translation>向后</translation>
    </message>
    <message>
        <source>Back to the view before</source>
        <translation>返回上一视图</translation>
    </message>
    <message>
        <source>&amp;Select</source>
        <translation>选择（&amp;S）</translation>
    </message>
    <message>
        <source>Row below</source>
        <translation>下一行</translation>
    </message>
    <message>
        <source>Row above</source>
        <translation>上一行</translation>
    </message>
    <message>
        <source>Next event in the row</source>
        <translation>行内下一个事件</translation>
    </message>
    <message>
        <source>Event before in the row</source>
        <translation>行内上一个事件</translation>
    </message>
    <message>
        <source>Collapse or expand the process of the row</source>
        <translation>折叠或展开该行的进程</translation>
    </message>
    <message>
        <source>Clear the selection</source>
        <translation>清除选择</translation>
    </message>
    <message>
        <source>&amp;Panels</source>
        <translation>面板（&amp;P）</translation>
    </message>
    <message>
        <source>Go to the base</source>
        <translation>转到基准</translation>
    </message>
    <message>
        <source>Go to the new trace</source>
        <translation>转到新追踪</translation>
    </message>
    <message>
        <source>Go to the differences</source>
        <translation>转到差异</translation>
    </message>
    <message>
        <source>Only what changed</source>
        <translation>只看变化</translation>
    </message>
    <message>
        <source>%1 and %2 – GraphDoctor</source>
        <translation>%1 与 %2 – GraphDoctor</translation>
    </message>
    <message>
        <source>Comparing …</source>
        <translation>正在比较……</translation>
    </message>
    <message>
        <source>Opening %1 …</source>
        <translation>正在打开 %1……</translation>
    </message>
    <message>
        <source>This trace cannot be shown.

%1.</source>
        <translation>无法显示此追踪文件。

%1。</translation>
    </message>
    <message>
        <source>There are no events in this trace.</source>
        <translation>此追踪中没有事件。</translation>
    </message>
    <message>
        <source>The traces cannot be compared: %1</source>
        <translation>无法比较两个追踪：%1</translation>
    </message>
    <message>
        <source>Steps: %1. A difference counts from %2 % on and beyond the spread of the values.</source>
        <translation>步：%1。差值达到 %2 % 且超出数值离散范围才算变化。</translation>
    </message>
    <message>
        <source> – step %1, %2 on the host</source>
        <translation> – 第 %1 步，主机上 %2</translation>
    </message>
    <message>
        <source>Base: %1%2</source>
        <translation>基准：%1%2</translation>
    </message>
    <message>
        <source>New: %1%2</source>
        <translation>新：%1%2</translation>
    </message>
    <message>
        <source>&amp;Help</source>
        <translation>帮助(&amp;H)</translation>
    </message>
    <message>
        <source>Keys</source>
        <translation>按键</translation>
    </message>
    <message>
        <source>Make the selected event an area</source>
        <translation>以选中事件为区间</translation>
    </message>
    <message>
        <source>Pin the row to the top, or let it go</source>
        <translation>将本行固定在顶部，或取消固定</translation>
    </message>
</context>
<context>
    <name>gd::gui::DetailsDock</name>
    <message>
        <source>Details</source>
        <translation>详情</translation>
    </message>
    <message>
        <source>Select an event on the timeline (J, K, . and ,) or a finding (N).</source>
        <translation>请在时间线上选择一个事件（J、K、. 和 ,），或选择一个发现（N）。</translation>
    </message>
</context>
<context>
    <name>gd::gui::DetailsModel</name>
    <message>
        <source>What</source>
        <translation>项目</translation>
    </message>
    <message>
        <source>Value</source>
        <translation>值</translation>
    </message>
</context>
<context>
    <name>gd::gui::FindingsDock</name>
    <message>
        <source>Findings</source>
        <translation>诊断结果</translation>
    </message>
    <message>
        <source>Findings (%1)</source>
        <translation>诊断结果（%1）</translation>
    </message>
    <message>
        <source>Filter by words or rule  (Ctrl+Shift+F)</source>
        <translation>按词语或规则筛选  (Ctrl+Shift+F)</translation>
    </message>
    <message>
        <source>Show only findings with these words</source>
        <translation>只显示包含这些词语的发现</translation>
    </message>
    <message>
        <source>Show only findings from this severity on</source>
        <translation>只显示此严重程度及以上的发现</translation>
    </message>
    <message>
        <source>all severities</source>
        <translation>所有严重程度</translation>
    </message>
    <message>
        <source>from warnings on</source>
        <translation>警告及以上</translation>
    </message>
    <message>
        <source>errors only</source>
        <translation>仅错误</translation>
    </message>
    <message>
        <source>Order of the findings</source>
        <translation>发现的排序</translation>
    </message>
    <message>
        <source>what to fix first</source>
        <translation>先修复者在前</translation>
    </message>
    <message>
        <source>by rule</source>
        <translation>按规则</translation>
    </message>
    <message>
        <source>by cost</source>
        <translation>按代价</translation>
    </message>
    <message>
        <source>by source line</source>
        <translation>按源代码行</translation>
    </message>
    <message>
        <source>Show all</source>
        <translation>全部显示</translation>
    </message>
    <message>
        <source>Findings (%1 of %2)</source>
        <translation>发现（%1 / %2）</translation>
    </message>
    <message numerus="yes">
        <source>%n hidden</source>
        <translation>
            <numerusform>隐藏 %n 项</numerusform>
        </translation>
    </message>
    <message>
        <source>No finding fits the filter.</source>
        <translation>没有符合筛选条件的发现。</translation>
    </message>
    <message>
        <source>Nothing was found.</source>
        <translation>没有发现任何问题。</translation>
    </message>
    <message>
        <source>Findings stand here once a trace is read.</source>
        <translation>读取跟踪后，发现会显示在这里。</translation>
    </message>
</context>
<context>
    <name>gd::gui::FindingsModel</name>
    <message numerus="yes">
        <source>%n rule(s) not evaluated</source>
        <translation>
            <numerusform>%n 条规则未评估</numerusform>
        </translation>
    </message>
    <message>
        <source>Rule</source>
        <translation>规则</translation>
    </message>
    <message>
        <source>Finding</source>
        <translation>诊断</translation>
    </message>
    <message>
        <source>Source</source>
        <translation>源码位置</translation>
    </message>
    <message>
        <source>Cost</source>
        <translation>代价</translation>
    </message>
    <message>
        <source>Ranks</source>
        <translation>Rank 列表</translation>
    </message>
</context>
<context>
    <name>gd::gui::GraphDock</name>
    <message>
        <source>Graph</source>
        <translation>图</translation>
    </message>
    <message>
        <source>Select a replay, or a kernel of one, and press G to see its graph.</source>
        <translation>选中一次重放或其中的一个核函数，按 G 查看它的图。</translation>
    </message>
    <message>
        <source> – no replay was recorded node by node, so nodes have no times (record with --level full)</source>
        <translation> – 没有逐节点记录的重放，因此节点没有时间（请用 --level full 记录）</translation>
    </message>
</context>
<context>
    <name>gd::gui::GraphView</name>
    <message>
        <source>Graph</source>
        <translation>图</translation>
    </message>
    <message>
        <source>, %1 a replay</source>
        <translation>，每次重放 %1</translation>
    </message>
    <message>
        <source>, stream %1</source>
        <translation>，流 %1</translation>
    </message>
    <message>
        <source>, on the critical path</source>
        <translation>，位于关键路径上</translation>
    </message>
    <message numerus="yes">
        <source>%n kernel(s)</source>
        <translation>
            <numerusform>%n 个内核</numerusform>
        </translation>
    </message>
    <message>
        <source>%1 from %2 on</source>
        <translation>%1，自 %2 起</translation>
    </message>
    <message>
        <source>%1 in %2</source>
        <translation>%1，位于 %2</translation>
    </message>
</context>
<context>
    <name>gd::gui::HitsDock</name>
    <message>
        <source>Hits</source>
        <translation>命中</translation>
    </message>
    <message>
        <source>Hits of the search by row</source>
        <translation>按行列出的搜索命中</translation>
    </message>
    <message>
        <source>Press / and type a part of a name: here stands how often each row has it.</source>
        <translation>按 / 并输入名称的一部分：这里会显示每一行的命中次数。</translation>
    </message>
    <message>
        <source>No event has “%1” in its name.</source>
        <translation>没有名称包含“%1”的事件。</translation>
    </message>
    <message numerus="yes">
        <source>“%1”: %n hit(s) in %2 rows</source>
        <translation>
            <numerusform>“%1”：%2 行中共 %n 处命中</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>gd::gui::HitsModel</name>
    <message numerus="yes">
        <source>%1, %n hit(s)</source>
        <translation>
            <numerusform>%1，%n 处命中</numerusform>
        </translation>
    </message>
    <message>
        <source>Row</source>
        <translation>行</translation>
    </message>
    <message>
        <source>Hits</source>
        <translation>命中</translation>
    </message>
</context>
<context>
    <name>gd::gui::Keys</name>
    <message>
        <source>Ctrl+wheel	Zoom at the pointer</source>
        <translation>Ctrl+滚轮	以指针为中心缩放</translation>
    </message>
    <message>
        <source>Shift+wheel, middle drag	Move in time</source>
        <translation>Shift+滚轮、中键拖动	沿时间移动</translation>
    </message>
    <message>
        <source>Wheel	Scroll the rows</source>
        <translation>滚轮	滚动各行</translation>
    </message>
    <message>
        <source>Left drag	Select an area, or move an edge of it</source>
        <translation>左键拖动	选择区间，或移动其边缘</translation>
    </message>
    <message>
        <source>Double click	Zoom to the event</source>
        <translation>双击	缩放到该事件</translation>
    </message>
    <message>
        <source>Keys</source>
        <translation>按键</translation>
    </message>
    <message>
        <source>What they do</source>
        <translation>作用</translation>
    </message>
</context>
<context>
    <name>gd::gui::MainWindow</name>
    <message>
        <source>&amp;File</source>
        <translation>文件(&amp;F)</translation>
    </message>
    <message>
        <source>Open a trace …</source>
        <translation>打开跟踪文件…</translation>
    </message>
    <message>
        <source>Open a spool folder …</source>
        <translation>打开暂存目录…</translation>
    </message>
    <message>
        <source>Open again</source>
        <translation>最近打开</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>退出</translation>
    </message>
    <message>
        <source>&amp;Move</source>
        <translation>移动(&amp;M)</translation>
    </message>
    <message>
        <source>Zoom in</source>
        <translation>放大</translation>
    </message>
    <message>
        <source>Zoom out</source>
        <translation>缩小</translation>
    </message>
    <message>
        <source>Earlier</source>
        <translation>向前</translation>
    </message>
    <message>
        <source>Later</source>
        <translation>向后</translation>
    </message>
    <message>
        <source>Show the whole trace</source>
        <translation>显示全部</translation>
    </message>
    <message>
        <source>Back to the view before</source>
        <translation>回到上一个视图</translation>
    </message>
    <message>
        <source>Centre the selection, again: fit it; without one: fit the area</source>
        <translation>选中项居中，再按一次：缩放到选中项；未选中时：缩放到所选区域</translation>
    </message>
    <message>
        <source>Move smoothly</source>
        <translation>平滑移动</translation>
    </message>
    <message>
        <source>&amp;Select</source>
        <translation>选择(&amp;S)</translation>
    </message>
    <message>
        <source>Next finding</source>
        <translation>下一条诊断</translation>
    </message>
    <message>
        <source>Finding before</source>
        <translation>上一条诊断</translation>
    </message>
    <message>
        <source>Row below</source>
        <translation>下一行</translation>
    </message>
    <message>
        <source>Row above</source>
        <translation>上一行</translation>
    </message>
    <message>
        <source>Next event in the row</source>
        <translation>本行下一个事件</translation>
    </message>
    <message>
        <source>Event before in the row</source>
        <translation>本行上一个事件</translation>
    </message>
    <message>
        <source>What the selection leads to: launch, kernel or replay, what depends on it</source>
        <translation>沿流向后：启动调用、核函数或重放、依赖它的工作</translation>
    </message>
    <message>
        <source>What the selection comes from</source>
        <translation>沿流向前：选中项的来源</translation>
    </message>
    <message>
        <source>Make the selected event an area</source>
        <translation>以选中事件为区间</translation>
    </message>
    <message>
        <source>Collapse or expand the process of the row</source>
        <translation>折叠或展开本行所属进程</translation>
    </message>
    <message>
        <source>Pin the row to the top, or let it go</source>
        <translation>将本行固定在顶部，或取消固定</translation>
    </message>
    <message>
        <source>Graph of the selected replay or kernel</source>
        <translation>选中的重放或核函数所属的图</translation>
    </message>
    <message>
        <source>Set or remove a mark</source>
        <translation>设置或取消标记</translation>
    </message>
    <message>
        <source>Set or remove a mark and keep the marks beside the trace</source>
        <translation>设置或取消标记，并把标记保存在跟踪文件旁</translation>
    </message>
    <message>
        <source>Next mark</source>
        <translation>下一个标记</translation>
    </message>
    <message>
        <source>Mark before</source>
        <translation>上一个标记</translation>
    </message>
    <message>
        <source>Clear the selection</source>
        <translation>清除选择</translation>
    </message>
    <message>
        <source>Sea&amp;rch</source>
        <translation>搜索(&amp;R)</translation>
    </message>
    <message>
        <source>Search event names</source>
        <translation>搜索事件名称</translation>
    </message>
    <message>
        <source>Next hit</source>
        <translation>下一个匹配</translation>
    </message>
    <message>
        <source>Hit before</source>
        <translation>上一个匹配</translation>
    </message>
    <message>
        <source>Show only rows named</source>
        <translation>只显示名称匹配的行</translation>
    </message>
    <message>
        <source>&amp;Panels</source>
        <translation>面板(&amp;P)</translation>
    </message>
    <message>
        <source>Go to the timeline</source>
        <translation>转到时间线</translation>
    </message>
    <message>
        <source>Go to the findings</source>
        <translation>转到诊断结果</translation>
    </message>
    <message>
        <source>Go to the details, source line first</source>
        <translation>转到详情，先到源码行</translation>
    </message>
    <message>
        <source>Go to the statistics of the area</source>
        <translation>转到区间统计</translation>
    </message>
    <message>
        <source>Copy the statistics as CSV</source>
        <translation>将统计复制为 CSV</translation>
    </message>
    <message>
        <source>&amp;Help</source>
        <translation>帮助(&amp;H)</translation>
    </message>
    <message>
        <source>Keys</source>
        <translation>按键</translation>
    </message>
    <message>
        <source>Notes on the trace</source>
        <translation>关于此跟踪的说明</translation>
    </message>
    <message>
        <source>GraphDoctor</source>
        <translation>GraphDoctor</translation>
    </message>
    <message>
        <source>Select a replay, or a kernel of one, and press G to see its graph.</source>
        <translation>选中一次重放或其中的一个核函数，按 G 查看它的图。</translation>
    </message>
    <message>
        <source>%1 – GraphDoctor</source>
        <translation>%1 – GraphDoctor</translation>
    </message>
    <message>
        <source>Importing %1 into the cache folder: %2 %</source>
        <translation>正在把 %1 导入缓存目录：%2 %</translation>
    </message>
    <message>
        <source>Looking for findings …</source>
        <translation>正在诊断…</translation>
    </message>
    <message>
        <source>No replay in this trace recorded this node by itself</source>
        <translation>此跟踪中没有单独记录该节点的重放</translation>
    </message>
    <message>
        <source>%1 events in %2 rows · N next finding · ? keys</source>
        <translation>%2 行共 %1 个事件 · N 下一条诊断 · ? 按键</translation>
    </message>
    <message>
        <source>No GPU work is in this trace: it was recorded with activity off, or the job never reached the GPU; graphdoctor report tells what was looked at</source>
        <translation>此跟踪中没有 GPU 工作：记录时关闭了活动记录，或者作业从未用到 GPU；graphdoctor report 会说明记录了哪些内容</translation>
    </message>
    <message numerus="yes">
        <source> (%n more)</source>
        <translation>
            <numerusform>（另有 %n 条）</numerusform>
        </translation>
    </message>
    <message>
        <source>This trace cannot be shown.

%1.</source>
        <translation>无法显示此跟踪。

%1。</translation>
    </message>
    <message>
        <source>No trace is open.

Drop a .gdt file here, or press Ctrl+O. A trace is made by: graphdoctor run -- your program</source>
        <translation>没有打开跟踪文件。

把 .gdt 文件拖到这里，或按 Ctrl+O。生成跟踪文件的命令：graphdoctor run -- 你的程序</translation>
    </message>
    <message>
        <source>Opening %1 …</source>
        <translation>正在打开 %1 …</translation>
    </message>
    <message>
        <source>There are no events in this trace.

The job never used a runtime that GraphDoctor follows, or recording was off. graphdoctor report %1 tells more.</source>
        <translation>此跟踪中没有事件。

作业从未使用 GraphDoctor 所跟踪的运行时，或者记录处于关闭状态。更多信息见 graphdoctor report %1。</translation>
    </message>
    <message>
        <source>Marks cannot be kept in %1: %2</source>
        <translation>无法把标记保存到 %1：%2</translation>
    </message>
    <message>
        <source>Open a trace</source>
        <translation>打开跟踪文件</translation>
    </message>
    <message>
        <source>Traces (*.gdt);;All files (*)</source>
        <translation>跟踪文件 (*.gdt);;所有文件 (*)</translation>
    </message>
    <message>
        <source>Open a spool folder</source>
        <translation>打开暂存目录</translation>
    </message>
    <message>
        <source>%1:%2 cannot be opened here</source>
        <translation>无法在此打开 %1:%2</translation>
    </message>
    <message>
        <source>Compare the ranks in the step of the selection</source>
        <translation>比较所选步中的各 rank</translation>
    </message>
    <message>
        <source>The trace is being read …</source>
        <translation>正在读取追踪文件……</translation>
    </message>
    <message numerus="yes">
        <source>%1 and %n more</source>
        <translation>
            <numerusform>%1 及另外 %n 个</numerusform>
        </translation>
    </message>
    <message>
        <source>The trace cannot be shown.</source>
        <translation>无法显示此追踪文件。</translation>
    </message>
    <message>
        <source>Compare with another trace …</source>
        <translation>与另一个跟踪比较 …</translation>
    </message>
    <message>
        <source>Filter the findings</source>
        <translation>筛选发现</translation>
    </message>
    <message>
        <source>Go to the graph</source>
        <translation>转到图</translation>
    </message>
    <message>
        <source>Go to the comparison of ranks</source>
        <translation>转到 rank 比较</translation>
    </message>
    <message>
        <source>Go to the hits of the search</source>
        <translation>转到搜索命中</translation>
    </message>
    <message>
        <source>Go to the notes on the trace</source>
        <translation>转到关于跟踪的说明</translation>
    </message>
    <message>
        <source>Open a trace first: it is the base</source>
        <translation>请先打开一个跟踪：它将作为基准</translation>
    </message>
    <message>
        <source>Traces of several files cannot be compared</source>
        <translation>由多个文件组成的跟踪无法比较</translation>
    </message>
    <message>
        <source>Compare with this trace</source>
        <translation>与此跟踪比较</translation>
    </message>
    <message>
        <source>There is no rule %1 here</source>
        <translation>这里没有规则 %1</translation>
    </message>
    <message>
        <source>Rule %1</source>
        <translation>规则 %1</translation>
    </message>
    <message>
        <source>Hide rows that have nothing in view</source>
        <translation>隐藏视图内没有内容的行</translation>
    </message>
    <message>
        <source>GEMM</source>
        <translation>GEMM</translation>
    </message>
    <message>
        <source>attention</source>
        <translation>注意力</translation>
    </message>
    <message>
        <source>other kernels</source>
        <translation>其他核函数</translation>
    </message>
    <message>
        <source>NCCL</source>
        <translation>NCCL</translation>
    </message>
    <message>
        <source>waits in it</source>
        <translation>其中的等待</translation>
    </message>
    <message>
        <source>copy</source>
        <translation>拷贝</translation>
    </message>
    <message>
        <source>fill</source>
        <translation>填充</translation>
    </message>
    <message>
        <source>replay</source>
        <translation>重放</translation>
    </message>
    <message>
        <source>idle gap</source>
        <translation>空闲间隙</translation>
    </message>
    <message>
        <source>memory</source>
        <translation>显存</translation>
    </message>
    <message>
        <source>host</source>
        <translation>主机</translation>
    </message>
</context>
<context>
    <name>gd::gui::Minimap</name>
    <message>
        <source>Whole trace</source>
        <translation>整个跟踪</translation>
    </message>
</context>
<context>
    <name>gd::gui::RanksDock</name>
    <message>
        <source>work</source>
        <translation>计算</translation>
    </message>
    <message>
        <source>whole replay</source>
        <translation>整次重放</translation>
    </message>
    <message>
        <source>transfer</source>
        <translation>传输</translation>
    </message>
    <message>
        <source>waits for others</source>
        <translation>等待其他 rank</translation>
    </message>
    <message>
        <source>Compare ranks</source>
        <translation>比较各 rank</translation>
    </message>
    <message>
        <source>Ranks of the step</source>
        <translation>该步的各 rank</translation>
    </message>
    <message>
        <source>Step</source>
        <translation>步</translation>
    </message>
    <message>
        <source>Aligned at</source>
        <translation>对齐于</translation>
    </message>
    <message>
        <source>&amp;Step</source>
        <translation>步（&amp;S）</translation>
    </message>
    <message>
        <source>&amp;Aligned at</source>
        <translation>对齐于（&amp;A）</translation>
    </message>
    <message>
        <source>No trace is open.</source>
        <translation>尚未打开追踪文件。</translation>
    </message>
    <message>
        <source>Choose a step, or press X on the timeline.</source>
        <translation>请选择一步，或在时间线上按 X。</translation>
    </message>
    <message>
        <source>common clock</source>
        <translation>同一时钟</translation>
    </message>
    <message>
        <source>start of the step</source>
        <translation>步的开始</translation>
    </message>
    <message>
        <source>end of %1</source>
        <translation>结束于 %1</translation>
    </message>
    <message>
        <source>Slowest: %1.</source>
        <translation>最慢：%1。</translation>
    </message>
    <message>
        <source>No rank holds the others up.</source>
        <translation>没有 rank 拖慢其他 rank。</translation>
    </message>
    <message>
        <source>only the first %1 collectives can be chosen</source>
        <translation>只能选择前 %1 个集合通信</translation>
    </message>
</context>
<context>
    <name>gd::gui::RanksModel</name>
    <message>
        <source>message</source>
        <translation>消息</translation>
    </message>
    <message>
        <source>apart by %1</source>
        <translation>相差 %1</translation>
    </message>
    <message>
        <source>clocks not related</source>
        <translation>时钟无法对应</translation>
    </message>
    <message>
        <source>%1. %2 of %3, communicator %4: %5</source>
        <translation>%1. %2，%3，通信域 %4：%5</translation>
    </message>
    <message>
        <source>not known</source>
        <translation>未知</translation>
    </message>
    <message>
        <source>%1: %2 from its start to its end; work %3, communication %4, of this waiting %5, idle %6</source>
        <translation>%1：从开始到结束 %2；计算 %3，通信 %4，其中等待 %5，空闲 %6</translation>
    </message>
    <message>
        <source>; slowest: %1</source>
        <translation>；最慢：%1</translation>
    </message>
    <message>
        <source>rank %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>process %1</source>
        <translation>进程 %1</translation>
    </message>
    <message>
        <source>%1 – slowest</source>
        <translation>%1 – 最慢</translation>
    </message>
    <message>
        <source>Rank</source>
        <translation>Rank</translation>
    </message>
    <message>
        <source>What the device does: work, transfer, waiting inside communication (hatched), nothing</source>
        <translation>设备在做什么：计算、传输、通信内等待（斜线）、空闲</translation>
    </message>
    <message>
        <source>Step on the device</source>
        <translation>设备上的步</translation>
    </message>
    <message>
        <source>How much later than the first rank it comes to the chosen collective</source>
        <translation>比最早的 rank 晚多少到达所选集合通信</translation>
    </message>
    <message>
        <source>How much later than the first rank its device begins to work</source>
        <translation>其设备比最早的 rank 晚多少开始工作</translation>
    </message>
    <message>
        <source>Comes later</source>
        <translation>晚到</translation>
    </message>
    <message>
        <source>From the end of the step before to the end of its own work</source>
        <translation>从上一步结束到自身工作结束</translation>
    </message>
    <message>
        <source>Duration</source>
        <translation>时长</translation>
    </message>
    <message>
        <source>Kernels, copies and fills without communication</source>
        <translation>除通信外的核函数、拷贝与填充</translation>
    </message>
    <message>
        <source>Work</source>
        <translation>计算</translation>
    </message>
    <message>
        <source>Communication, also behind other work</source>
        <translation>通信，包括被其他工作掩盖的部分</translation>
    </message>
    <message>
        <source>Comm.</source>
        <translation>通信</translation>
    </message>
    <message>
        <source>Inside communication, before the last rank that it needs had come</source>
        <translation>通信之内，所需的最后一个 rank 到达之前</translation>
    </message>
    <message>
        <source>NCCL wait</source>
        <translation>NCCL 等待</translation>
    </message>
    <message>
        <source>Communication while nothing else runs</source>
        <translation>没有其他工作时的通信</translation>
    </message>
    <message>
        <source>Exposed</source>
        <translation>暴露</translation>
    </message>
    <message>
        <source>Idle before replays</source>
        <translation>重放前的空闲</translation>
    </message>
    <message>
        <source>Gaps</source>
        <translation>间隙</translation>
    </message>
    <message>
        <source>Nothing runs on the device</source>
        <translation>设备上没有任何工作</translation>
    </message>
    <message>
        <source>Idle</source>
        <translation>空闲</translation>
    </message>
    <message>
        <source>What the others would gain if it came no later than the next to last</source>
        <translation>若它不晚于倒数第二个到达，其他 rank 可节省的时间</translation>
    </message>
    <message>
        <source>Holds up</source>
        <translation>拖慢</translation>
    </message>
</context>
<context>
    <name>gd::gui::RowLayout</name>
    <message>
        <source>process %1</source>
        <translation>进程 %1</translation>
    </message>
    <message>
        <source>rank %1, %2</source>
        <translation>rank %1，%2</translation>
    </message>
</context>
<context>
    <name>gd::gui::SearchBar</name>
    <message>
        <source>Search names  ( / )</source>
        <translation>搜索名称（/）</translation>
    </message>
    <message>
        <source>Search names of events</source>
        <translation>搜索事件名称</translation>
    </message>
    <message>
        <source>Rows  (Ctrl+P)</source>
        <translation>筛选行（Ctrl+P）</translation>
    </message>
    <message>
        <source>Show only rows with this text</source>
        <translation>只显示包含此文字的行</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>第 %1 个，共 %2 个</translation>
    </message>
    <message>
        <source>no event</source>
        <translation>没有匹配的事件</translation>
    </message>
</context>
<context>
    <name>gd::gui::StatsDock</name>
    <message>
        <source>Selection</source>
        <translation>区间</translation>
    </message>
    <message>
        <source>Statistics of the selected area</source>
        <translation>所选区间的统计</translation>
    </message>
    <message>
        <source>Copy as CSV</source>
        <translation>复制为 CSV</translation>
    </message>
    <message>
        <source>Drag over the timeline, or press R on an event, to select an area.</source>
        <translation>在时间线上拖动，或在事件上按 R，即可选择区间。</translation>
    </message>
</context>
<context>
    <name>gd::gui::StatsModel</name>
    <message>
        <source>wall %1; device work was not recorded</source>
        <translation>总时长 %1；未记录设备工作</translation>
    </message>
    <message>
        <source>wall %1, device busy %2 (%3 %), idle %4</source>
        <translation>总时长 %1，设备忙 %2（%3 %），空闲 %4</translation>
    </message>
    <message>
        <source>Kind</source>
        <translation>类别</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>名称</translation>
    </message>
    <message>
        <source>Count</source>
        <translation>次数</translation>
    </message>
    <message>
        <source>Sum</source>
        <translation>合计</translation>
    </message>
    <message>
        <source>Median</source>
        <translation>中位数</translation>
    </message>
    <message>
        <source>p99</source>
        <translation>p99</translation>
    </message>
    <message>
        <source>%1; moved %2</source>
        <translation>%1；搬运 %2</translation>
    </message>
    <message>
        <source>Moved</source>
        <translation>搬运量</translation>
    </message>
</context>
<context>
    <name>gd::gui::TimelineView</name>
    <message>
        <source>most: %1</source>
        <translation>最大：%1</translation>
    </message>
    <message>
        <source>%1 shown</source>
        <translation>显示 %1</translation>
    </message>
    <message>
        <source>Findings</source>
        <translation>诊断结果</translation>
    </message>
    <message>
        <source>Timeline</source>
        <translation>时间线</translation>
    </message>
    <message>
        <source>%1, %2, from %3 for %4</source>
        <translation>%1，%2，从 %3 起，持续 %4</translation>
    </message>
    <message>
        <source>%1, collapsed</source>
        <translation>%1，已折叠</translation>
    </message>
    <message>
        <source>%1, most %2</source>
        <translation>%1，最大 %2</translation>
    </message>
    <message numerus="yes">
        <source>%1, %n event(s) from %2 for %3</source>
        <translation>
            <numerusform>%1，%n 个事件，从 %2 起，持续 %3</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1; %n hit(s)</source>
        <translation>
            <numerusform>%1；%n 处命中</numerusform>
        </translation>
    </message>
    <message>
        <source>%1: %2 at %3</source>
        <translation>%1：%3 时为 %2</translation>
    </message>
</context>
<context>
    <name>gd::gui::TraceSession</name>
    <message>
        <source>Findings are not shown: %1</source>
        <translation>无法显示诊断结果：%1</translation>
    </message>
    <message>
        <source>There is no step that two ranks of this trace have. graphdoctor view A.gdt B.gdt opens the traces of several ranks as one job.</source>
        <translation>此追踪中没有两个 rank 共有的步。graphdoctor view A.gdt B.gdt 可把多个 rank 的追踪作为一个作业打开。</translation>
    </message>
</context>
<context>
    <name>gd::gui::Words</name>
    <message>
        <source>error</source>
        <translation>错误</translation>
    </message>
    <message>
        <source>warning</source>
        <translation>警告</translation>
    </message>
    <message>
        <source>info</source>
        <translation>提示</translation>
    </message>
    <message>
        <source>high</source>
        <translation>高</translation>
    </message>
    <message>
        <source>medium</source>
        <translation>中</translation>
    </message>
    <message>
        <source>low</source>
        <translation>低</translation>
    </message>
    <message>
        <source>row %1 of table %2 is gone from the trace</source>
        <translation>跟踪文件中已没有表 %2 的第 %1 行</translation>
    </message>
    <message>
        <source>%1 of table %2</source>
        <translation>表 %2 第 %1 行</translation>
    </message>
    <message>
        <source>not known</source>
        <translation>未知</translation>
    </message>
    <message>
        <source>%1 for %2</source>
        <translation>%1，持续 %2</translation>
    </message>
    <message>
        <source>%1, at %2</source>
        <translation>%1，位于 %2</translation>
    </message>
    <message>
        <source>what this call started is not among the recorded device work that follows it</source>
        <translation>在此调用之后记录的设备工作中没有它启动的工作</translation>
    </message>
    <message>
        <source>this replay was recorded as a whole, not node by node</source>
        <translation>这次重放是整体记录的，没有逐节点记录</translation>
    </message>
    <message>
        <source>the call that started this is not among the recorded calls before it</source>
        <translation>在此之前记录的调用中没有启动它的调用</translation>
    </message>
    <message>
        <source>%1, at %2 for %3</source>
        <translation>%1，位于 %2，持续 %3</translation>
    </message>
    <message>
        <source>%1 links are not shown</source>
        <translation>另有 %1 条关联未显示</translation>
    </message>
    <message>
        <source>%1, rank %2</source>
        <translation>%1，rank %2</translation>
    </message>
    <message>
        <source>the first %1 of %2 nodes</source>
        <translation>共 %2 个节点，显示前 %1 个</translation>
    </message>
    <message>
        <source>a graph belongs to a replay or to a kernel of one: select such an event</source>
        <translation>图属于重放或其中的核函数：请选中这样的事件</translation>
    </message>
    <message>
        <source>this kernel ran outside graphs</source>
        <translation>这个核函数不是在图中运行的</translation>
    </message>
    <message>
        <source>the graph of this replay was made before recording began</source>
        <translation>这次重放的图在记录开始之前就已创建</translation>
    </message>
    <message>
        <source>times of nodes are left out: the trace is too large</source>
        <translation>跟踪过大，未计算节点时间</translation>
    </message>
    <message>
        <source>graph %1 of %2: %3 nodes, %4 edges</source>
        <translation>%2 的图 %1：%3 个节点，%4 条边</translation>
    </message>
    <message>
        <source>rank %1, process %2</source>
        <translation>rank %1，进程 %2</translation>
    </message>
    <message>
        <source>process %1</source>
        <translation>进程 %1</translation>
    </message>
    <message>
        <source>idle: host waits for the device</source>
        <translation>空闲：主机等待设备</translation>
    </message>
    <message>
        <source>idle: graph is updated</source>
        <translation>空闲：正在更新图</translation>
    </message>
    <message>
        <source>idle: copies and loading</source>
        <translation>空闲：拷贝与数据加载</translation>
    </message>
    <message>
        <source>idle: host busy outside CUDA</source>
        <translation>空闲：主机在 CUDA 之外忙碌</translation>
    </message>
    <message>
        <source>idle: inside the launch call</source>
        <translation>空闲：在启动调用之中</translation>
    </message>
    <message>
        <source>idle: waits for an event</source>
        <translation>空闲：等待事件</translation>
    </message>
    <message>
        <source>idle: waits for another rank</source>
        <translation>空闲：等待其他 rank</translation>
    </message>
    <message>
        <source>idle: waits in communication</source>
        <translation>空闲：在通信中等待</translation>
    </message>
    <message>
        <source>idle: not known</source>
        <translation>空闲：原因未知</translation>
    </message>
    <message>
        <source>warmup</source>
        <translation>预热</translation>
    </message>
    <message>
        <source>excluded</source>
        <translation>已排除</translation>
    </message>
    <message>
        <source>outside</source>
        <translation>记录窗口之外</translation>
    </message>
    <message>
        <source>%1 events are not drawn: more than %2 overlap in one row</source>
        <translation>有 %1 个事件未绘制：同一行中重叠超过 %2 个</translation>
    </message>
    <message>
        <source>table %1 cannot be drawn: %2</source>
        <translation>无法绘制表 %1：%2</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>训练步</translation>
    </message>
    <message>
        <source>Gaps before replays</source>
        <translation>重放前的空闲</translation>
    </message>
    <message>
        <source>Replays, stream %1</source>
        <translation>重放，流 %1</translation>
    </message>
    <message>
        <source>Replays, stream %1: launches only</source>
        <translation>重放，流 %1：仅有启动时间</translation>
    </message>
    <message>
        <source>graph</source>
        <translation>图</translation>
    </message>
    <message>
        <source>launch of %1</source>
        <translation>启动 %1</translation>
    </message>
    <message>
        <source>Ranges, %1</source>
        <translation>范围，%1</translation>
    </message>
    <message>
        <source>range</source>
        <translation>范围</translation>
    </message>
    <message>
        <source>Calls, %1</source>
        <translation>调用，%1</translation>
    </message>
    <message>
        <source>call</source>
        <translation>调用</translation>
    </message>
    <message>
        <source>Device %1, stream %2</source>
        <translation>设备 %1，流 %2</translation>
    </message>
    <message>
        <source>kernel</source>
        <translation>核函数</translation>
    </message>
    <message>
        <source>Memory, device %1</source>
        <translation>显存，设备 %1</translation>
    </message>
    <message>
        <source>Memory, device %1: framework&apos;s blocks</source>
        <translation>显存，设备 %1：框架的内存块</translation>
    </message>
    <message>
        <source>Memory, device %1: in use by anybody</source>
        <translation>显存，设备 %1：所有进程已用</translation>
    </message>
    <message>
        <source>Findings are not compared: %1</source>
        <translation>未比较诊断结果：%1</translation>
    </message>
    <message>
        <source>Findings are not compared: %1: %2</source>
        <translation>未比较诊断结果：%1：%2</translation>
    </message>
    <message>
        <source>%1 cannot be made, and a spool is imported there</source>
        <translation>无法创建 %1，而暂存目录要导入到那里</translation>
    </message>
    <message>
        <source>step</source>
        <translation>步</translation>
    </message>
    <message>
        <source>replay</source>
        <translation>重放</translation>
    </message>
    <message>
        <source>gap</source>
        <translation>空闲</translation>
    </message>
    <message>
        <source>device</source>
        <translation>设备</translation>
    </message>
    <message>
        <source>communication</source>
        <translation>通信</translation>
    </message>
    <message>
        <source>memory</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>after</source>
        <translation>前驱</translation>
    </message>
    <message>
        <source>api call id</source>
        <translation>API 调用编号</translation>
    </message>
    <message>
        <source>api id</source>
        <translation>API</translation>
    </message>
    <message>
        <source>before</source>
        <translation>后继</translation>
    </message>
    <message>
        <source>block x</source>
        <translation>线程块 x</translation>
    </message>
    <message>
        <source>block y</source>
        <translation>线程块 y</translation>
    </message>
    <message>
        <source>block z</source>
        <translation>线程块 z</translation>
    </message>
    <message>
        <source>bytes</source>
        <translation>字节数</translation>
    </message>
    <message>
        <source>called from</source>
        <translation>调用位置</translation>
    </message>
    <message>
        <source>capture id</source>
        <translation>捕获编号</translation>
    </message>
    <message>
        <source>captures</source>
        <translation>捕获次数</translation>
    </message>
    <message>
        <source>cause</source>
        <translation>原因</translation>
    </message>
    <message>
        <source>cause detail</source>
        <translation>原因细节</translation>
    </message>
    <message>
        <source>comm hash</source>
        <translation>通信域标识</translation>
    </message>
    <message>
        <source>confidence</source>
        <translation>可信度</translation>
    </message>
    <message>
        <source>consists of</source>
        <translation>包含</translation>
    </message>
    <message>
        <source>copy kind</source>
        <translation>拷贝方向</translation>
    </message>
    <message>
        <source>correlation</source>
        <translation>关联号</translation>
    </message>
    <message>
        <source>cost</source>
        <translation>代价</translation>
    </message>
    <message>
        <source>count</source>
        <translation>元素个数</translation>
    </message>
    <message>
        <source>data</source>
        <translation>数据准备</translation>
    </message>
    <message>
        <source>depth</source>
        <translation>嵌套深度</translation>
    </message>
    <message>
        <source>detail</source>
        <translation>记录方式</translation>
    </message>
    <message>
        <source>device id</source>
        <translation>设备编号</translation>
    </message>
    <message>
        <source>domain id</source>
        <translation>NVTX 域</translation>
    </message>
    <message>
        <source>dst memory</source>
        <translation>目标内存</translation>
    </message>
    <message>
        <source>dtype</source>
        <translation>数据类型</translation>
    </message>
    <message>
        <source>dur</source>
        <translation>时长</translation>
    </message>
    <message>
        <source>duration</source>
        <translation>持续时间</translation>
    </message>
    <message>
        <source>dynamic shared</source>
        <translation>动态共享内存</translation>
    </message>
    <message>
        <source>eager recorded</source>
        <translation>已记录图外工作</translation>
    </message>
    <message>
        <source>end</source>
        <translation>结束</translation>
    </message>
    <message>
        <source>event</source>
        <translation>等待事件</translation>
    </message>
    <message>
        <source>evidence</source>
        <translation>证据</translation>
    </message>
    <message>
        <source>exec id</source>
        <translation>可执行图编号</translation>
    </message>
    <message>
        <source>exec update</source>
        <translation>更新可执行图</translation>
    </message>
    <message>
        <source>finding</source>
        <translation>诊断</translation>
    </message>
    <message>
        <source>fix</source>
        <translation>解决办法</translation>
    </message>
    <message>
        <source>flow</source>
        <translation>关联</translation>
    </message>
    <message>
        <source>graph name</source>
        <translation>图名</translation>
    </message>
    <message>
        <source>grid x</source>
        <translation>网格 x</translation>
    </message>
    <message>
        <source>grid y</source>
        <translation>网格 y</translation>
    </message>
    <message>
        <source>grid z</source>
        <translation>网格 z</translation>
    </message>
    <message>
        <source>group id</source>
        <translation>组编号</translation>
    </message>
    <message>
        <source>host other</source>
        <translation>主机其他工作</translation>
    </message>
    <message>
        <source>host sync</source>
        <translation>主机同步</translation>
    </message>
    <message>
        <source>kernel id</source>
        <translation>核函数编号</translation>
    </message>
    <message>
        <source>kind</source>
        <translation>类别</translation>
    </message>
    <message>
        <source>known</source>
        <translation>是否可知</translation>
    </message>
    <message>
        <source>launch call</source>
        <translation>启动调用</translation>
    </message>
    <message>
        <source>launch end</source>
        <translation>启动调用结束</translation>
    </message>
    <message>
        <source>launch start</source>
        <translation>启动调用开始</translation>
    </message>
    <message>
        <source>launched by</source>
        <translation>启动者</translation>
    </message>
    <message>
        <source>memcpy id</source>
        <translation>拷贝编号</translation>
    </message>
    <message>
        <source>memset id</source>
        <translation>填充编号</translation>
    </message>
    <message>
        <source>message bytes</source>
        <translation>消息字节数</translation>
    </message>
    <message>
        <source>method</source>
        <translation>识别方法</translation>
    </message>
    <message>
        <source>more</source>
        <translation>更多</translation>
    </message>
    <message>
        <source>name</source>
        <translation>名称</translation>
    </message>
    <message>
        <source>name id</source>
        <translation>名称</translation>
    </message>
    <message>
        <source>nccl</source>
        <translation>通信等待</translation>
    </message>
    <message>
        <source>node id</source>
        <translation>节点编号</translation>
    </message>
    <message>
        <source>noise</source>
        <translation>噪声</translation>
    </message>
    <message>
        <source>not shown</source>
        <translation>未显示</translation>
    </message>
    <message>
        <source>object id</source>
        <translation>对象编号</translation>
    </message>
    <message>
        <source>op id</source>
        <translation>操作编号</translation>
    </message>
    <message>
        <source>other ranks</source>
        <translation>其他 rank</translation>
    </message>
    <message>
        <source>part of</source>
        <translation>属于</translation>
    </message>
    <message>
        <source>payload</source>
        <translation>附带数据</translation>
    </message>
    <message>
        <source>peer</source>
        <translation>对端</translation>
    </message>
    <message>
        <source>process id</source>
        <translation>进程编号</translation>
    </message>
    <message>
        <source>range id</source>
        <translation>范围编号</translation>
    </message>
    <message>
        <source>ranks</source>
        <translation>rank</translation>
    </message>
    <message>
        <source>registers</source>
        <translation>寄存器</translation>
    </message>
    <message>
        <source>replay id</source>
        <translation>重放编号</translation>
    </message>
    <message>
        <source>replays</source>
        <translation>重放次数</translation>
    </message>
    <message>
        <source>result</source>
        <translation>返回值</translation>
    </message>
    <message>
        <source>row</source>
        <translation>数据行</translation>
    </message>
    <message>
        <source>rule</source>
        <translation>规则</translation>
    </message>
    <message>
        <source>same step</source>
        <translation>同一步内</translation>
    </message>
    <message>
        <source>sequence</source>
        <translation>序号</translation>
    </message>
    <message>
        <source>severity</source>
        <translation>严重程度</translation>
    </message>
    <message>
        <source>source</source>
        <translation>源码位置</translation>
    </message>
    <message>
        <source>src memory</source>
        <translation>源内存</translation>
    </message>
    <message>
        <source>start</source>
        <translation>开始</translation>
    </message>
    <message>
        <source>starts</source>
        <translation>启动的工作</translation>
    </message>
    <message>
        <source>static shared</source>
        <translation>静态共享内存</translation>
    </message>
    <message>
        <source>steady</source>
        <translation>稳定阶段</translation>
    </message>
    <message>
        <source>stream id</source>
        <translation>流编号</translation>
    </message>
    <message>
        <source>sync</source>
        <translation>同步</translation>
    </message>
    <message>
        <source>sync api</source>
        <translation>同步调用</translation>
    </message>
    <message>
        <source>sync runtime api</source>
        <translation>同步调用（运行时名称）</translation>
    </message>
    <message>
        <source>sync stack id</source>
        <translation>同步调用位置</translation>
    </message>
    <message>
        <source>thread id</source>
        <translation>线程编号</translation>
    </message>
    <message>
        <source>time</source>
        <translation>时间</translation>
    </message>
    <message>
        <source>track id</source>
        <translation>轨道编号</translation>
    </message>
    <message>
        <source>unknown</source>
        <translation>未知原因</translation>
    </message>
    <message>
        <source>value</source>
        <translation>填充值</translation>
    </message>
    <message>
        <source>what</source>
        <translation>现象</translation>
    </message>
    <message>
        <source>when</source>
        <translation>时间</translation>
    </message>
    <message>
        <source>why</source>
        <translation>原因</translation>
    </message>
    <message>
        <source>with it</source>
        <translation>同时出现</translation>
    </message>
    <message>
        <source>step %1</source>
        <translation>第 %1 步</translation>
    </message>
    <message>
        <source>Communication</source>
        <translation>通信</translation>
    </message>
    <message>
        <source>Communication: waits not known</source>
        <translation>通信：等待时间未知</translation>
    </message>
    <message>
        <source>NCCL calls %1</source>
        <translation>NCCL 调用 %1</translation>
    </message>
    <message>
        <source>%1: Enter shows its page, as graphdoctor rules show does</source>
        <translation>%1：按 Enter 显示其页面，与 graphdoctor rules show 相同</translation>
    </message>
    <message>
        <source>the first %1 of %2 runs of nodes</source>
        <translation>%2 段节点中的前 %1 段</translation>
    </message>
    <message>
        <source>runs of kernels are drawn as one node: %1 are left</source>
        <translation>连续的内核合并为一个节点：剩余 %1 个</translation>
    </message>
    <message>
        <source>which calls communication kernels run is not known: %1</source>
        <translation>无法得知通信内核由哪些调用启动：%1</translation>
    </message>
    <message>
        <source>no NCCL data: kernels of NCCL were recorded, but not its calls, so that they are matched by their times alone; graphdoctor run loads its profiler plugin and follows its ranges where nothing else uses them, and graphdoctor env tells why not</source>
        <translation>没有 NCCL 数据：记录了 NCCL 的内核，但没有记录其调用，因此只能按时间匹配；graphdoctor run 会在没有其他工具占用时加载其 profiler 插件并跟踪其范围，graphdoctor env 会说明未能做到的原因</translation>
    </message>
    <message>
        <source>no NCCL data: none of the %1 ranks&apos; communication was recorded; run the job with graphdoctor run, which loads NCCL&apos;s profiler plugin</source>
        <translation>没有 NCCL 数据：%1 个 rank 的通信均未记录；请用 graphdoctor run 运行作业，它会加载 NCCL 的 profiler 插件</translation>
    </message>
    <message>
        <source>same kernel after</source>
        <translation>之后的同一内核</translation>
    </message>
    <message>
        <source>same kernel before</source>
        <translation>之前的同一内核</translation>
    </message>
    <message>
        <source>of the job&apos;s %1 ranks these are not in this trace: %2; who waits for them is not known (graphdoctor view A.gdt B.gdt opens the traces of several hosts as one)</source>
        <translation>作业的 %1 个 rank 中，以下不在此跟踪里：%2；无法得知谁在等待它们（graphdoctor view A.gdt B.gdt 可将多台主机的跟踪作为一个打开）</translation>
    </message>
    <message>
        <source>ranks that made fewer calls of this communicator and never this one: %1</source>
        <translation>在此通信器上调用次数较少、从未发出此调用的 rank：%1</translation>
    </message>
    <message>
        <source>the other ranks&apos; calls are of other kinds up to here: which of them belong to this one is not known</source>
        <translation>到此为止其他 rank 的调用种类不同：无法确定哪些与此调用相对应</translation>
    </message>
    <message>
        <source>%1 (%2 frames)</source>
        <translation>%1（%2 帧）</translation>
    </message>
    <message>
        <source>%1, %2 ranks</source>
        <translation>%1，%2 个 rank</translation>
    </message>
    <message>
        <source>NCCL calls, %1 communicators</source>
        <translation>NCCL 调用，%1 个通信域</translation>
    </message>
    <message>
        <source>NCCL call times %1</source>
        <translation>NCCL 调用时刻 %1</translation>
    </message>
    <message>
        <source>NCCL call times, %1 communicators</source>
        <translation>NCCL 调用时刻，%1 个通信域</translation>
    </message>
</context>
</TS>
