// Whole run: databases are made, started and stopped.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { link, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { readProcessIdentity } from '../process/process-identity.ts';
import { acquireInstanceLock, releaseInstanceLock } from './instance-lock.ts';

const module = new URL('./instance-lock.ts', import.meta.url).href;
/** No process has such an identifier. */
const dead = (start: number) => `999999999 ${start}`;

let base: string;
before(async () => {
  base = await mkdtemp(join(tmpdir(), 'switchyard-owner-'));
});
after(() => rm(base, { recursive: true, force: true }));

async function homeWith(files: Readonly<Record<string, string>>): Promise<string> {
  const home = await mkdtemp(join(base, 'home-'));
  for (const [name, text] of Object.entries(files)) await writeFile(join(home, name), text);
  return home;
}

function live(t: TestContext, script: string): ChildProcess {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  return child;
}

const ownIdentity = readProcessIdentity(process.pid);

describe('the lock on the data directory', () => {
  it('the first process holds it until it releases it', async () => {
    const home = await homeWith({});
    assert.equal(await acquireInstanceLock(home), true);
    assert.equal(await readFile(join(home, 'owner'), 'utf8'), ownIdentity);
    assert.equal(await acquireInstanceLock(home), false);
    await releaseInstanceLock(home);
    assert.equal(await acquireInstanceLock(home), true);
    assert.deepEqual(await readdir(home), ['owner']);
  });

  it('a start with the process id of a killed one acquires it', async () => {
    const home = await homeWith({ owner: dead(1) });
    const leftFiles = Array.from({ length: 50 }, (_, index) => `owner.new-${process.pid}-${index}`);
    for (const name of leftFiles) await link(join(home, 'owner'), join(home, name));
    assert.equal(await acquireInstanceLock(home), true);
    assert.equal(await readFile(join(home, 'owner'), 'utf8'), ownIdentity);
  });

  it('one of many concurrent processes acquires it, also after a dead holder', async () => {
    for (let round = 0; round < 100; round += 1) {
      const home = await homeWith(round % 2 === 0 ? {} : { owner: dead(round) });
      const got = await Promise.all(Array.from({ length: 16 }, () => acquireInstanceLock(home)));
      assert.equal(got.filter((owns) => owns).length, 1, `round ${round}`);
      assert.equal(await readFile(join(home, 'owner'), 'utf8'), ownIdentity);
      assert.deepEqual(await readdir(home), ['owner']);
    }
  });

  // Spec: SET-7
  it('one of several concurrent processes acquires it', async (t) => {
    const rounds = 60;
    const home = await homeWith({});
    for (let round = 0; round < rounds; round += 1) {
      const directory = join(home, String(round));
      await mkdir(directory);
      if (round % 3 !== 0) await writeFile(join(directory, 'owner'), dead(round));
    }
    const script = `import { acquireInstanceLock } from ${JSON.stringify(module)};
      process.stdout.write('ready\\n');
      process.stdin.once('data', async () => {
        const owned = [];
        for (let round = 0; round < ${rounds}; round += 1) {
          const place = ${JSON.stringify(home)} + '/' + round;
          const got = await Promise.all([1, 2, 3].map(() => acquireInstanceLock(place)));
          owned.push(got.filter((owns) => owns).length);
        }
        process.stdout.write(JSON.stringify(owned) + '\\n');
      });`;
    const crowd = Array.from({ length: 4 }, () => live(t, script));
    const readOutput = async ({ stdout }: ChildProcess): Promise<string> => {
      assert.ok(stdout);
      const [text] = await once(stdout, 'data');
      return String(text);
    };
    assert.deepEqual(
      await Promise.all(crowd.map(readOutput)),
      crowd.map(() => 'ready\n'),
    );
    const outputs = crowd.map(readOutput);
    for (const { stdin } of crowd) stdin?.write('go\n');
    const owned = (await Promise.all(outputs)).map((text) => JSON.parse(text) as number[]);
    for (let round = 0; round < rounds; round += 1) {
      const owners = owned.reduce((sum, counts) => sum + (counts[round] ?? 0), 0);
      assert.equal(owners, 1, `round ${round}`);
      assert.deepEqual(await readdir(join(home, String(round))), ['owner']);
    }
  });

  it('a process acquires it after one that was killed while it acquired it', async () => {
    const home = await homeWith({
      owner: dead(1),
      'owner.after-0-999999999-1': dead(2),
      'owner.after-1-999999999-2': dead(3),
      'owner.after-0-999999999-7': dead(8),
    });
    const got = await Promise.all(Array.from({ length: 8 }, () => acquireInstanceLock(home)));
    assert.equal(got.filter((owns) => owns).length, 1);
    assert.equal(await readFile(join(home, 'owner'), 'utf8'), ownIdentity);
    assert.deepEqual(await readdir(home), ['owner']);
  });

  it('a process acquires it if a power failure left empty files', async () => {
    const home = await homeWith({ owner: '', 'owner.after-0-': '', 'owner.after-1-': '' });
    const got = await Promise.all(Array.from({ length: 8 }, () => acquireInstanceLock(home)));
    assert.equal(got.filter((owns) => owns).length, 1);
    assert.equal(await readFile(join(home, 'owner'), 'utf8'), ownIdentity);
    assert.deepEqual(await readdir(home), ['owner']);
  });

  it('a process does not acquire it while another one replaces a dead holder', async (t) => {
    const other = live(t, 'process.stdin.resume()');
    await once(other, 'spawn');
    const files = {
      owner: dead(1),
      'owner.after-0-999999999-1': readProcessIdentity(other.pid ?? 0),
    };
    const home = await homeWith(files);
    assert.equal(await acquireInstanceLock(home), false);
    assert.deepEqual((await readdir(home)).toSorted(), Object.keys(files).toSorted());
    const exited = once(other, 'exit');
    other.kill('SIGKILL');
    await exited;
    assert.equal(await acquireInstanceLock(home), true);
    assert.deepEqual(await readdir(home), ['owner']);
  });
});
