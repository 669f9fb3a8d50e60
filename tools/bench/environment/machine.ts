// Says on which machine a run was made, and how quiet it was: figures of another one differ.
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';
import type { Calibration } from './calibrate.ts';

export type MachineDescription = {
  cpu: string;
  cores: number;
  memoryGib: number;
  system: string;
  node: string;
  /** Over the minute before the run; near 0 on a machine that has nothing else to do. */
  loadBefore: number;
  /** Fixed work, measured before and after the run. */
  calibration?: { before: Calibration; after: Calibration };
};

function systemName(): string {
  try {
    const text = readFileSync('/etc/os-release', 'utf8');
    return /^PRETTY_NAME="(.*)"$/m.exec(text)?.[1] ?? process.platform;
  } catch {
    return process.platform;
  }
}

export function describeMachine(): MachineDescription {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGib: Math.round(totalmem() / 2 ** 30),
    system: `${systemName()}, kernel ${release()}`,
    node: process.version,
    loadBefore: loadavg()[0] ?? 0,
  };
}
