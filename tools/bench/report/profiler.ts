// Loaded into the server by the bench alone: SIGUSR2 begins a CPU profile, the next one writes it with the allocated bytes.
import { renameSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { GCProfiler, getHeapStatistics } from 'node:v8';
import { allocatedBytes } from './allocated-bytes.ts';

const session = new Session();
const samplingIntervalUs = 500;
let isRunning = false;
let collections = new GCProfiler();
let usedAtBegin = 0;

const usedHeap = () => getHeapStatistics().used_heap_size;

function readAllocatedBytes(): number {
  const { statistics } = collections.stop();
  const sizes = statistics.map(({ beforeGC, afterGC }) => ({
    usedBefore: beforeGC.heapStatistics.usedHeapSize,
    usedAfter: afterGC.heapStatistics.usedHeapSize,
  }));
  return allocatedBytes(usedAtBegin, sizes, usedHeap());
}

function begin(): void {
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.setSamplingInterval', { interval: samplingIntervalUs });
  session.post('Profiler.start');
  collections = new GCProfiler();
  usedAtBegin = usedHeap();
  collections.start();
}

function end(): void {
  const allocated = readAllocatedBytes();
  session.post('Profiler.stop', (fault, answer) => {
    const file = process.env['BENCH_PROFILE'];
    if (fault === null && file !== undefined) {
      writeFileSync(
        `${file}.part`,
        JSON.stringify({ ...answer.profile, allocatedBytes: allocated }),
      );
      renameSync(`${file}.part`, file);
    }
    session.disconnect();
  });
}

process.on('SIGUSR2', () => {
  if (isRunning) end();
  else begin();
  isRunning = !isRunning;
});
