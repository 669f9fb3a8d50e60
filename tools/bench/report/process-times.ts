// Reads what processes have cost: CPU time and memory from /proc, which only Linux has.
import { readdirSync, readFileSync } from 'node:fs';

/** Of USER_HZ, which is 100 on every Linux that Node runs on (proc(5), stat). */
const msPerTick = 10;

export type ProcessStat = {
  pid: number;
  parent: number;
  /** Its own, user and system. */
  cpuMs: number;
  /** Of children that have ended and were waited for. */
  childrenCpuMs: number;
};

/** Reads a line of /proc/<pid>/stat; a name may hold blanks and brackets, so fields count from its end. */
export function parseStat(text: string): ProcessStat | undefined {
  const nameEnd = text.lastIndexOf(')');
  const pid = Number.parseInt(text, 10);
  const fields = text.slice(nameEnd + 2).split(' ');
  if (nameEnd < 0 || Number.isNaN(pid) || fields.length < 15) return undefined;
  const ticks = (from: number) => Number(fields[from]) + Number(fields[from + 1]);
  return {
    pid,
    parent: Number(fields[1]),
    cpuMs: ticks(11) * msPerTick,
    childrenCpuMs: ticks(13) * msPerTick,
  };
}

/** The memory that a process holds now, MiB, from the text of /proc/<pid>/status. */
export function parseResidentMemory(text: string): number | undefined {
  const match = /^VmRSS:\s+(\d+) kB$/m.exec(text);
  return match === null ? undefined : Number(match[1]) / 1024;
}

/** Busy and all CPU time of the machine, ms, from the first line of /proc/stat. */
export function parseMachineTimes(text: string): { busyMs: number; totalMs: number } {
  // user nice system idle iowait irq softirq steal; the guests' times are within user and nice.
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, steal = 0] = text
    .slice(4, text.indexOf('\n'))
    .trim()
    .split(/\s+/)
    .map(Number);
  const busy = user + nice + system + irq + soft + steal;
  return { busyMs: busy * msPerTick, totalMs: (busy + idle + wait) * msPerTick };
}

/** A process and those it has started, by their parents; what has ended counts with its parent. */
export function treeCpuMs(root: number, all: readonly ProcessStat[]): number {
  const rootProcess = all.find(({ pid }) => pid === root);
  if (rootProcess === undefined) return 0;
  const children = all.filter(({ parent }) => parent === root);
  const below = children.reduce((sum, { pid }) => sum + treeCpuMs(pid, all), 0);
  return rootProcess.cpuMs + rootProcess.childrenCpuMs + below;
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function allProcesses(): ProcessStat[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => parseStat(read(`/proc/${name}/stat`)))
    .filter((stat) => stat !== undefined);
}

/** The processes of a run, beside the one that reads their times. */
export type WatchedPids = {
  /** The times of several server processes are added. */
  server: number | readonly number[];
  postgres: number;
  simulator?: number;
  load?: number;
};

export type CpuTimes = Record<keyof WatchedPids | 'others', number> & { totalMs: number };

/**
 * CPU time that each has used so far, ms, PostgreSQL with all its children; `others` is all other
 * work on this machine. The load is this process unless another one is named.
 */
export function readCpu({
  server,
  postgres,
  simulator,
  load = process.pid,
}: WatchedPids): CpuTimes {
  const all = allProcesses();
  const cpuMsOf = (pid: number | undefined) => all.find((each) => each.pid === pid)?.cpuMs ?? 0;
  const { busyMs, totalMs } = parseMachineTimes(read('/proc/stat'));
  const times = {
    server: [server].flat().reduce((sum, pid) => sum + cpuMsOf(pid), 0),
    postgres: treeCpuMs(postgres, all),
    simulator: cpuMsOf(simulator),
    load: cpuMsOf(load),
  };
  const measuredMs = times.server + times.postgres + times.simulator + times.load;
  return { ...times, others: busyMs - measuredMs, totalMs };
}

export function cpuBetween(before: CpuTimes, after: CpuTimes): CpuTimes {
  const names = Object.keys(before) as (keyof CpuTimes)[];
  const spent = names.map((name) => [name, after[name] - before[name]] as const);
  return Object.fromEntries(spent) as CpuTimes;
}

/** MiB; 0 for a process that is gone. */
export function readResidentMemory(pid: number): number {
  return parseResidentMemory(read(`/proc/${pid}/status`)) ?? 0;
}
