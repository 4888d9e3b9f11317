<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en" sourcelanguage="en">
<context>
    <name>gd::gui::FindingsDock</name>
    <message numerus="yes">
        <source>%n hidden</source>
        <translation>
            <numerusform>%n hidden</numerusform>
            <numerusform>%n hidden</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>gd::gui::FindingsModel</name>
    <message numerus="yes">
        <source>%n rule(s) not evaluated</source>
        <translation>
            <numerusform>%n rule not evaluated</numerusform>
            <numerusform>%n rules not evaluated</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>gd::gui::GraphView</name>
    <message numerus="yes">
        <source>%n kernel(s)</source>
        <translation>
            <numerusform>%n kernel</numerusform>
            <numerusform>%n kernels</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>gd::gui::HitsDock</name>
    <message numerus="yes">
        <source>“%1”: %n hit(s) in %2 rows</source>
        <translation>
            <numerusform>“%1”: %n hit in %2 rows</numerusform>
            <numerusform>“%1”: %n hits in %2 rows</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>gd::gui::HitsModel</name>
    <message numerus="yes">
        <source>%1, %n hit(s)</source>
        <translation>
            <numerusform>%1, %n hit</numerusform>
            <numerusform>%1, %n hits</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>gd::gui::MainWindow</name>
    <message numerus="yes">
        <source>%1 and %n more</source>
        <translation>
            <numerusform>%1 and %n more</numerusform>
            <numerusform>%1 and %n more</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source> (%n more)</source>
        <translation>
            <numerusform> (%n more)</numerusform>
            <numerusform> (%n more)</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>gd::gui::TimelineView</name>
    <message numerus="yes">
        <source>%1, %n event(s) from %2 for %3</source>
        <translation>
            <numerusform>%1, %n event from %2 for %3</numerusform>
            <numerusform>%1, %n events from %2 for %3</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1; %n hit(s)</source>
        <translation>
            <numerusform>%1; %n hit</numerusform>
            <numerusform>%1; %n hits</numerusform>
        </translation>
    </message>
</context>
</TS>
