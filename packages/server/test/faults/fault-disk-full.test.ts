// Whole run: processes, databases and hosts fail in the middle of their work, again and again.
// A full disk: the server refuses load, leaves nothing half written, and recovers by itself when
// there is space.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../support/wait-for-result.ts';
import { type FaultPlatform, startFaultPlatform } from './fault-platform.ts';
import { printResult, seed, sizeOfRun } from './fault-size.ts';
import {
  assertNothingLost,
  createRandom,
  type Sale,
  sellUntilStopped,
} from './load-during-faults.ts';

const rounds = sizeOfRun({ small: 1, full: 6 });
const tills = 8;
const diskMegabytes = 220;
const chunkBytes = 256 * 1024;

type Way = { readonly begin: readonly string[]; readonly go: readonly string[] };

/**
 * The commands that give a process its own file system. Root uses a mount namespace. Another user
 * also becomes root in a user namespace, and then the original user again, because PostgreSQL
 * refuses to run as root.
 */
function wayToMount(): Way | undefined {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  const ways: readonly Way[] = [
    { begin: ['unshare', '--mount'], go: [] },
    {
      begin: ['unshare', '--user', '--map-root-user', '--mount'],
      go: ['unshare', '--user', `--map-user=${uid}`, `--map-group=${gid}`],
    },
  ];
  return ways.find(({ begin: [file = '', ...args], go }) => {
    const script = `mount -t tmpfs none /mnt && exec ${[...go, 'true'].join(' ')}`;
    return spawnSync(file, [...args, '/bin/sh', '-c', script]).status === 0;
  });
}

const way = wayToMount();

/**
 * A file system of a few megabytes for the database only, in the mount namespace of the process.
 */
const onSmallDisk = (dataDir: string) => [
  ...(way?.begin ?? []),
  '/bin/sh',
  '-c',
  `mkdir -p "$0/postgres" && mount -t tmpfs -o size=${diskMegabytes}m,mode=0755 none "$0/postgres" && exec ${way?.go.join(' ') ?? ''} "$@"`,
  dataDir,
];

/** Fills the disk with a file, and deletes the file again. */
async function ballast(platform: FaultPlatform) {
  const path = `/proc/${platform.server.pid()}/root${join(platform.dataDir, 'postgres', 'ballast')}`;
  const file = await open(path, 'w');
  const chunk = Buffer.alloc(chunkBytes);
  let isFull = false;
  return {
    /** Writes until nothing fits, including space that the database has freed. */
    async fill(): Promise<void> {
      for (let size = chunk.length; size > 0; ) {
        try {
          await file.write(chunk, 0, size);
        } catch (error) {
          assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
          isFull = true;
          size = size > 4096 ? Math.floor(size / 4) : 0;
        }
      }
      assert.ok(isFull);
    },
    async drop(): Promise<void> {
      await file.close();
      await rm(path);
    },
  };
}

// Spec: INV-21
test(`sales continue after the disk was full (seed ${seed})`, {
  timeout: sizeOfRun({ small: 120_000, full: 600_000 }),
  skip: way === undefined ? 'this machine gives nobody a file system of his own' : false,
}, async () => {
  const platform = await startFaultPlatform({ wrapperCommand: onSmallDisk });
  const { server, host } = platform;
  const sales: Sale[] = [];
  const next = createRandom(seed);
  try {
    await server.start();
    const { client, token } = await platform.openClient();
    let goesOn = true;
    const goOn = () => goesOn;
    const loops = Array.from({ length: tills }, () =>
      sellUntilStopped({ server, client, token, sales, next, continues: goOn }),
    );
    const count = (status: number) =>
      sales.filter((sale) => sale.response?.status === status).length;
    try {
      for (let round = 0; round < rounds; round += 1) {
        const [well, shed] = [count(200), count(503)];
        await until(() => count(200) > well + 20 || undefined, 'sales before');
        const weight = await ballast(platform);
        await until(
          async () => {
            await weight.fill();
            return count(503) > shed + 20 ? true : undefined;
          },
          'load to be shed',
          60_000,
        );
        await weight.drop();
        const before = count(200);
        await until(() => count(200) > before + 20 || undefined, 'sales behind it', 60_000);
      }
    } finally {
      goesOn = false;
      await Promise.all(loops);
    }
    for (const { response } of sales) {
      if (response === undefined || response.status === 200) continue;
      assert.equal(response.status, 503, response.text);
      assert.equal(response.body.retryable, true, response.text);
    }
    const counts = await assertNothingLost({
      ...(await platform.openClient()),
      sales,
      host,
      mayFail: true,
    });
    await platform.assertLedgersAgree();
    printResult(`full ${rounds} times: ${JSON.stringify(counts)}, ${count(503)} shed`);
  } finally {
    await platform.stop();
  }
});
