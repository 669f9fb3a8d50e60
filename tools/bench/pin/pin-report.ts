// Turns figures of PIN translations into the table that people read.

import type { BenchOptions } from '../bench-options.ts';
import type { MachineDescription } from '../environment/machine.ts';
import { layOutTable, perSecond } from '../report/report-table.ts';
import type { PinFigures } from './bench-pin.ts';

/** The targets of the software HSM, for the requests that terminals usually send. */
export const pinTargets = { perCpuSecond: 3000 } as const;

/** @example process.stdout.write(writePinReport(figures, options, machine)); */
export function writePinReport(
  figures: PinFigures,
  { seed }: BenchOptions,
  machine: MachineDescription,
): string {
  const { cpu, cores, system, node, loadBefore } = machine;
  const target = `at least ${perSecond(pinTargets.perCpuSecond)}`;
  const lines = [
    `${cpu}, ${cores} cores; ${system}, Node ${node}; load before the run ${loadBefore.toFixed(2)}`,
    `seed ${seed}; each way for ${figures.seconds} s, in one process`,
  ];
  return [
    layOutTable([
      {
        title: 'PIN translations for each second of CPU, software HSM',
        figures: figures.ways.map(({ name, perCpuSecond }) => ({
          name,
          value: perSecond(perCpuSecond),
          target,
          reached: perCpuSecond >= pinTargets.perCpuSecond,
        })),
      },
    ]),
    ...lines.map((line) => `  ${line}\n`),
  ].join('\n');
}
