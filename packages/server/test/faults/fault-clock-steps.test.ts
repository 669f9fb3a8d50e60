// Whole run: processes, databases and hosts fail in the middle of their work, again and again.
// Clock steps of a server under load, with kills between them: no reversal waits for the old time.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { testDatabaseCopyUrl } from '../support/database/test-database.ts';
import { until } from '../support/wait-for-result.ts';
import { type FaultPlatform, startFaultPlatform } from './fault-platform.ts';
import { printResult, seed, sizeOfRun } from './fault-size.ts';
import {
  assertNothingLost,
  createRandom,
  type Sale,
  sellUntilStopped,
} from './load-during-faults.ts';

/** Odd, so that the last round leaves the clock an hour behind. */
const rounds = sizeOfRun({ small: 5, full: 25 });
const tills = 8;
const salesPerRound = 10;
/** Requests are in progress when the clock steps and after it. */
const sellingAfterStepMs = 500;
const limitMs = sizeOfRun({ small: 360_000, full: 1_200_000 });
const minuteMs = 60_000;
const backMs = -60 * minuteMs;
/**
 * Shorter than the wait for the end of a sale, because due times that were stored ahead stay ahead
 * after the restart.
 */
const forwardMs = minuteMs;
const preload = fileURLToPath(
  new URL('../support/processes/stepped-clock-preload.ts', import.meta.url),
);

describe('a server whose clock steps', { concurrency: false }, () => {
  const sales: Sale[] = [];
  const next = createRandom(seed);
  let directory: string;
  let offsetFile: string;
  let platform: FaultPlatform;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'switchyard-clock-'));
    offsetFile = join(directory, 'offset');
    await writeFile(offsetFile, '0');
    platform = await startFaultPlatform({
      databaseUrl: await testDatabaseCopyUrl(),
      settings: {
        NODE_OPTIONS: `--import ${preload}`,
        STEPPED_CLOCK_FILE: offsetFile,
      },
    });
    await platform.server.start();
  });

  after(async () => {
    await platform.stop();
    await rm(directory, { recursive: true, force: true });
  });

  const answered = () => sales.filter((sale) => sale.response?.status === 200).length;

  test(`${rounds} clock steps, each second one with a kill (seed ${seed})`, {
    timeout: limitMs,
  }, async () => {
    const { server, host } = platform;
    for (let round = 0; round < rounds; round += 1) {
      // A token that was issued before the step may be refused after it.
      const { client, token } = await platform.openClient();
      let isSelling = true;
      const goOn = () => isSelling;
      const loops = Array.from({ length: tills }, () =>
        sellUntilStopped({
          server,
          client,
          token,
          sales,
          next,
          sendsUnanswered: true,
          continues: goOn,
        }),
      );
      const enough = answered() + salesPerRound;
      await until(() => answered() >= enough || undefined, 'sales before the clock step');
      const isKilled = round % 2 === 1;
      await writeFile(offsetFile, String(isKilled ? forwardMs : backMs));
      await pause(sellingAfterStepMs);
      if (isKilled) await server.kill();
      isSelling = false;
      await Promise.all(loops);
      if (isKilled) {
        // A machine whose clock is an hour off refuses to start.
        await writeFile(offsetFile, '0');
        await server.start();
      }
    }
    const counts = await assertNothingLost({
      ...(await platform.openClient()),
      sales,
      host,
      mayFail: true,
    });
    await platform.assertLedgersAgree();
    printResult(`after ${rounds} clock steps ${JSON.stringify(counts)}`);
  });
});
