// Records which functions below a folder are called, with the coverage of V8.
import { type Profiler, Session } from 'node:inspector/promises';
import { pathToFileURL } from 'node:url';

/** The names of the called functions by file, relative to the folder. */
export type CalledFunctions = Map<string, Set<string>>;

export type CallRecorder = {
  /** Records the calls from now on. The returned function ends the recording. */
  start(): Promise<() => Promise<CalledFunctions>>;
  /** Records the calls until `work` has ended. */
  record(work: () => Promise<unknown>): Promise<CalledFunctions>;
  close(): Promise<void>;
};

/** @example const recorder = await createCallRecorder('/repo/packages/server/src/payments/'); */
export async function createCallRecorder(folder: string): Promise<CallRecorder> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const base = pathToFileURL(folder).href;
  // Taking the coverage sets all counters to zero.
  const readCoverage = async () => (await session.post('Profiler.takePreciseCoverage')).result;

  async function start() {
    await readCoverage();
    return async () => calledBelow(base, await readCoverage());
  }

  return {
    start,
    async record(work) {
      const called = await start();
      await work();
      return called();
    },
    async close() {
      await session.post('Profiler.stopPreciseCoverage');
      session.disconnect();
    },
  };
}

function calledBelow(base: string, scripts: Profiler.ScriptCoverage[]): CalledFunctions {
  const called: CalledFunctions = new Map();
  for (const { url, functions } of scripts) {
    if (!url.startsWith(base)) continue;
    const names = functions
      .filter(({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0)
      .map(({ functionName }) => functionName);
    if (names.length > 0) called.set(url.slice(base.length), new Set(names));
  }
  return called;
}
