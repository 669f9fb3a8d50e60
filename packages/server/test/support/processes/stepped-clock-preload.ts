// Shifts the clock of a process by the milliseconds in a file, as when an operator or NTP sets it.
// Loaded with `--import` before the platform; see fault-clock-steps.test.ts.
import { readFileSync } from 'node:fs';

const offsetFile = process.env['STEPPED_CLOCK_FILE'] ?? '';
const readEveryMs = 20;

const SystemDate = globalThis.Date;
const systemNow = SystemDate.now.bind(SystemDate);
let offsetMs = 0;

function readOffset(): void {
  const value = Number(readFileSync(offsetFile, 'utf8'));
  // An empty file is in the middle of a write; the next read has the value.
  if (Number.isInteger(value)) offsetMs = value;
}

const now = () => systemNow() + offsetMs;

readOffset();
setInterval(readOffset, readEveryMs).unref();
globalThis.Date = new Proxy(SystemDate, {
  construct: (target, values: unknown[]) =>
    Reflect.construct(target, values.length === 0 ? [now()] : values),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});
