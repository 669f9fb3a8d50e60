// Writes the result of a benchmark for people: its figures, the profile of the server, and the machine.
import type { MachineDescription } from '../environment/machine.ts';
import type { ProfileLine } from './profile-report.ts';
import type { Profile } from './profile-step.ts';
import { figure, layOutTable, microseconds, percent, type Section } from './report-table.ts';

export type BenchResult = {
  /** For machines. */
  figures: object;
  /** The same for people. */
  sections: Section[];
  notes: string[];
  /** The share of the machine that was busy with other work, where it was measured; 1 is all of it. */
  othersShare?: number;
  profile?: Profile | undefined;
};

const functionsMax = 30;
/** What the bench itself and the system need, and a little more. */
const quietShare = 0.04;
const loadOfQuiet = 0.5;

function calibrationLines({ calibration }: MachineDescription): string[] {
  if (calibration === undefined) return [];
  const { before, after } = calibration;
  return [
    `calibration before, after the run: CPU work ${before.cpuWorkMs.toFixed(0)}, ${after.cpuWorkMs.toFixed(0)} ms; ` +
      `pipe round trip ${before.pipeRoundTripUs.toFixed(1)}, ${after.pipeRoundTripUs.toFixed(1)} µs`,
  ];
}

function machineLines(machine: MachineDescription, othersShare: number | undefined): string[] {
  const isLoud = (othersShare ?? 0) > quietShare || machine.loadBefore > loadOfQuiet;
  const others = othersShare === undefined ? '' : `; CPU used by others: ${percent(othersShare)}`;
  return [
    `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGib} GiB; ${machine.system}, Node ${machine.node}`,
    `load before the run ${machine.loadBefore.toFixed(2)}${others}`,
    ...calibrationLines(machine),
    ...(isLoud ? ['NOT A QUIET MACHINE: repeat this run before you believe it'] : []),
  ];
}

function functionSection(title: string, lines: readonly ProfileLine[]): Section {
  const figures = lines
    .slice(0, functionsMax)
    .map(({ name, share }) => ({ label: name, value: `${(share * 100).toFixed(1)} %` }));
  return { title, figures };
}

function profileSections({
  functions,
  packages,
  statements,
  allocatedBytesEach,
}: Profile): Section[] {
  return [
    functionSection('Server, self time by function', functions),
    functionSection('Server, self time by package or file', packages),
    {
      title: 'Server, JavaScript heap',
      figures: [figure('allocated for each request', allocatedBytesEach, 'bytes')],
    },
    {
      title: 'PostgreSQL, time in its statements for each request',
      figures: statements.map((each) => ({
        label: each.statement,
        value: microseconds(each.usEach),
        target:
          `${each.callsEach.toFixed(3)} calls, ${each.rowsPerCall.toFixed(1)} rows a call, ` +
          `${each.logBytesEach.toFixed(0)} bytes of log`,
      })),
    },
  ];
}

export function formatReport(
  { sections, notes, othersShare, profile }: BenchResult,
  seed: number,
  machine: MachineDescription,
): string {
  const profiled = profile === undefined ? [] : profileSections(profile);
  const lines = [...machineLines(machine, othersShare), `seed ${seed}`, ...notes];
  return [
    layOutTable(sections),
    ...profiled.map((section) => layOutTable([section])),
    lines.map((line) => `  ${line}\n`).join(''),
  ].join('\n');
}
