// The CPU time of a sale in several server processes on one database, and in one at the same total rate.
import { cpSync } from 'node:fs';
import { basename } from 'node:path';
import type { BenchOptions } from '../bench-options.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import { describeSalesStep } from './knee-run.ts';
import type { MeasuredStep, SalesLoad } from './load-generator.ts';
import type { PrintLine } from './measured-step.ts';
import { openLoadGenerator, type SalesEnvironment } from './sales-environment.ts';
import type { ProcessesFigures } from './sales-report.ts';

/** A new process has to compile its code before it costs the same as the first one. */
const warmUpSeconds = 25;
const settleSeconds = 3;
/** Belongs to one running platform; all other files, such as keys, are the same for each process. */
const runningPlatformFile = 'demo.json';

/** Starts one more process of the platform, with the same keys and base URL. */
async function startAnotherServer({ platform, server }: SalesEnvironment, number: number) {
  const { dataDir: firstDataDir } = platform;
  const dataDir = `${firstDataDir}-${number}`;
  cpSync(firstDataDir, dataDir, {
    recursive: true,
    filter: (path) => basename(path) !== runningPlatformFile,
  });
  return platform.startServer({
    dataDir,
    variables: {
      SWITCHYARD_BASE_URL: `https://${server.target.authority}`,
      SWITCHYARD_SIMULATORS: 'off',
    },
  });
}

/** One process, then several, then one again, so that a slower machine is noticed. */
export async function compareProcesses(
  closers: CloseStack,
  run: { environment: SalesEnvironment; options: BenchOptions; printLine: PrintLine },
  rate: number,
): Promise<ProcessesFigures> {
  const { environment, options, printLine } = run;
  const { platform, server, simulator, load } = environment;
  const { processes, rounds, seconds } = options;

  async function runSteps(each: SalesLoad, count: number): Promise<MeasuredStep[]> {
    const steps: MeasuredStep[] = [];
    for (let index = 0; index < count; index += 1) {
      const step = await each.step('sales', rate, seconds);
      printLine(`${each === load ? 1 : processes} processes  ${describeSalesStep(step)}`);
      steps.push(step);
    }
    return steps;
  }

  await environment.renewTokens();
  const before = await runSteps(load, rounds);
  const others = [];
  for (let number = 2; number <= processes; number += 1) {
    others.push(await startAnotherServer(environment, number));
  }
  const { load: dividedLoad, setTills } = await openLoadGenerator(
    closers,
    {
      target: { ...server.target, otherPorts: others.map(({ target }) => target.port) },
      watched: {
        server: [server, ...others].map(({ pid }) => pid),
        postgres: platform.postgresPid,
        simulator: simulator.pid,
      },
    },
    options,
  );
  await setTills(await environment.fetchTills());
  await dividedLoad.step('sales', rate, warmUpSeconds);
  const several = await runSteps(dividedLoad, rounds);
  for (const other of others) await other.stop();
  await load.step('sales', rate, settleSeconds);
  const after = await runSteps(load, rounds);
  return { processes, one: [...before, ...after], several };
}
