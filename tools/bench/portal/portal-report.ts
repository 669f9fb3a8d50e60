// Turns the figures of the portal into the table that people read: each beside its target.

import type { MachineDescription } from '../environment/machine.ts';
import { type Figure, layOutTable, mebibytes, seconds } from '../report/report-table.ts';
import { frameMs, type PortalFigures, portalTargets } from './bench-portal.ts';

const ms = (value: number) => `${value.toFixed(0)} ms`;

function middle(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
}

function paint(name: string, values: readonly number[]): Figure[] {
  return [
    {
      name: `${name}: largest contentful paint`,
      value: ms(middle(values)),
      target: `under ${ms(portalTargets.paintMs)}`,
      reached: middle(values) < portalTargets.paintMs,
    },
    { name: `${name}: the slowest`, value: ms(Math.max(...values)) },
  ];
}

export function writePortalReport(figures: PortalFigures, machine: MachineDescription): string {
  const { entryBytes, coldPaintMs, warmPaintMs, answersMs, list } = figures;
  const sections = [
    {
      title: 'What is fetched first',
      figures: [
        {
          name: 'entry with its style, gzip',
          value: `${(entryBytes / 1024).toFixed(0)} kB`,
          target: `at most ${portalTargets.entryBytes / 1024} kB`,
          reached: entryBytes <= portalTargets.entryBytes,
        },
      ],
    },
    {
      title: 'The list of payments is opened',
      figures: [...paint('nothing kept', coldPaintMs), ...paint('files kept', warmPaintMs)],
    },
    {
      title: 'From a press to the next picture',
      figures: Object.entries(answersMs).map(([name, value]) => ({
        name,
        value: value === 0 ? 'under 16 ms' : ms(value),
        target: `under ${ms(portalTargets.answerMs)}`,
        reached: value < portalTargets.answerMs,
      })),
    },
    {
      title: `A list of ${list.rows.toLocaleString('en')} rows`,
      figures: [
        { name: 'scrolled to its end in', value: seconds(list.seconds) },
        {
          name: 'then, by the wheel: longest frame',
          value: ms(list.longestFrameMs),
          target: `under ${ms(frameMs)}`,
          reached: list.longestFrameMs < frameMs,
        },
        { name: 'heap of the page', value: mebibytes(list.heapMib) },
      ],
    },
  ];
  const { cpu, cores, memoryGib, system, node, loadBefore } = machine;
  const where = `${cpu}, ${cores} cores, ${memoryGib} GiB; ${system}, Node ${node}`;
  return `${layOutTable(sections)}\n  ${where}\n  load before the run ${loadBefore.toFixed(2)}\n`;
}
