import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  parseMachineTimes,
  parseResidentMemory,
  parseStat,
  readResidentMemory,
  treeCpuMs,
} from './process-times.ts';

const fields = (ppid: number, user: number, system: number, ended: number) =>
  `S ${ppid} 1 1 0 -1 4194304 10 20 30 40 ${user} ${system} ${ended} 0 20 0 1 0 100 1000 50`;

describe('process times from /proc', () => {
  test('times are read for a process whose name contains spaces and brackets', () => {
    const stat = parseStat(`4711 (post (gres) x) ${fields(12, 150, 50, 7)}\n`);
    assert.deepEqual(stat, { pid: 4711, parent: 12, cpuMs: 2000, childrenCpuMs: 70 });
  });

  test('a process that has just ended is no error', () => {
    assert.equal(parseStat(''), undefined);
    assert.equal(parseResidentMemory(''), undefined);
    assert.equal(readResidentMemory(0), 0);
  });

  test('a server includes its children, also ended ones', () => {
    const all = [
      parseStat(`10 (postgres) ${fields(1, 100, 0, 50)}`),
      parseStat(`11 (postgres) ${fields(10, 200, 0, 0)}`),
      parseStat(`12 (sh) ${fields(11, 10, 0, 0)}`),
      parseStat(`13 (other) ${fields(1, 999, 0, 0)}`),
    ].filter((stat) => stat !== undefined);
    assert.equal(all.length, 4);
    assert.equal(treeCpuMs(10, all), 3600);
    assert.equal(treeCpuMs(99, all), 0);
  });

  test('memory is read in MiB, and CPU times of the whole machine', () => {
    assert.equal(parseResidentMemory('Name:\tnode\nVmRSS:\t  204800 kB\nThreads:\t7\n'), 200);
    const machine = parseMachineTimes('cpu  10 1 20 500 30 4 5 6 0 0\ncpu0 1 2\n');
    assert.deepEqual(machine, { busyMs: 460, totalMs: 5760 });
  });
});
