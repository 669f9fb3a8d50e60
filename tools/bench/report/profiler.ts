// Loaded into the server by the bench alone: SIGUSR2 begins a CPU profile, the next one writes it.
import { renameSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';

const session = new Session();
const samplingIntervalUs = 500;
let isRunning = false;

function begin(): void {
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.setSamplingInterval', { interval: samplingIntervalUs });
  session.post('Profiler.start');
}

function end(): void {
  session.post('Profiler.stop', (fault, answer) => {
    const file = process.env['BENCH_PROFILE'];
    if (fault === null && file !== undefined) {
      writeFileSync(`${file}.part`, JSON.stringify(answer.profile));
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
