// Whole run: makes a release and two container images.
// The container image runs as an unprivileged user on a read-only root, and takes the first production sale.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startPostgresRelay } from '../../packages/server/test/support/database/postgres-tcp-relay.ts';
import { testSchemaUrl } from '../../packages/server/test/support/database/test-database.ts';
import { runFirstProductionSale, toolsOfFirstSale } from '../guides/run-first-production-sale.ts';
import { absentTools } from '../guides/shell-blocks.ts';
import { repositoryRoot } from '../repository-root.ts';
import { buildContainerImage, imageName } from './container-image.ts';
import { makeRelease } from './release.ts';

const baseImage = 'localhost/switchyard-test-base';
const fullName = `switchyard-0.1.0-${process.platform}-${process.arch}`;
const absent =
  process.getuid?.() === 0
    ? absentTools(...toolsOfFirstSale, 'buildah', 'mmdebstrap', 'unshare')
    : 'only root builds images here';

function run(command: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, {
    encoding: 'utf8',
    env: { ...process.env, SOURCE_DATE_EPOCH: '1735689600' },
  });
  assert.equal(status, 0, `${command} ${args.join(' ')}: ${stderr}`);
  return stdout.trim();
}

type ImageConfig = {
  readonly User: string;
  readonly Entrypoint: readonly string[];
  readonly Env: readonly string[];
  readonly StopSignal: string;
  readonly Healthcheck: { readonly Test: readonly string[] };
};

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * A script that runs a command like a container engine with a read-only root: the user and the environment of the
 * image, its own mounts, and the network of this machine. The settings are the only other files.
 */
function createRunScript(root: string, home: string, { User, Env }: ImageConfig): string {
  const settings = join(home, 'switchyard');
  const owner = quote(User);
  // The settings of the tutorial replace those of the image.
  const variables = Env.filter((each) => !each.startsWith('SWITCHYARD_'));
  return `#!/bin/bash
set -euo pipefail
mkdir -p ${settings}/data
chown -R ${owner} ${settings}
exec unshare --mount --propagation private bash -euc '
  mount --bind ${root} ${root}
  mount -o remount,bind,ro ${root}
  mount -t proc proc ${root}/proc
  mount --rbind /dev ${root}/dev
  mount -t tmpfs tmpfs ${root}/tmp
  mount --bind /etc/hosts ${root}/etc/hosts
  (umask 022 && mkdir -p ${root}${settings})
  mount --bind ${settings} ${root}${settings}
  exec env ${variables.join(' ')} "$(command -v chroot)" --userspec=${User} ${root} "$@"
' run "$@"
`;
}

describe('the container image', { skip: absent, timeout: 900_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-image-test-'));
  const archive = join(folder, 'release', `${fullName}-image.tar`);
  let container: string;
  let root: string;
  let config: ImageConfig;

  before(async () => {
    run(join(repositoryRoot, 'deploy/make-base-image.sh'), baseImage);
    await makeRelease({
      folder: join(folder, 'release'),
      baseImage,
      allowChanges: true,
      printLine: () => {},
    });
    container = run('buildah', 'from', `docker-archive:${archive}`);
    root = run('buildah', 'mount', container);
    ({ config } = JSON.parse(run('buildah', 'inspect', container)).Docker);
  });

  after(() => {
    if (container !== undefined) run('buildah', 'rm', container);
    spawnSync('buildah', ['rmi', imageName('0.1.0'), baseImage]);
    rmSync(folder, { recursive: true, force: true });
  });

  test('the same tarball and base make the same bytes', () => {
    const again = join(folder, 'again.tar');
    const sbom = JSON.parse(
      readFileSync(join(folder, 'release', `${fullName}-image.cdx.json`), 'utf8'),
    );
    const { properties } = sbom.metadata.component;
    buildContainerImage({
      tarball: join(folder, 'release', `${fullName}.tar.gz`),
      archive: again,
      baseImage,
      version: '0.1.0',
      commit: properties[0].value,
      madeAt: Date.parse(sbom.metadata.timestamp) / 1000,
    });
    assert.ok(readFileSync(again).equals(readFileSync(archive)));
    rmSync(again);
  });

  test('its list of components has the packages of Debian', () => {
    const text = readFileSync(join(folder, 'release', `${fullName}-image.cdx.json`), 'utf8');
    assert.match(text, /"purl": "pkg:deb\/debian\/libc6@[\w.%+-]+\?arch=amd64"/);
    assert.match(text, /"purl": "pkg:npm\/fastify@/);
  });

  test('node is its first process, its user is not root, and nothing in it belongs to that user', () => {
    assert.equal(config.Entrypoint[0], '/opt/switchyard/bin/node');
    assert.notEqual(Number.parseInt(config.User, 10), 0);
    assert.equal(config.StopSignal, 'SIGTERM');
    const [user = ''] = config.User.split(':');
    assert.equal(run('find', root, '-xdev', '-uid', user), '');
    const program = join(root, 'opt/switchyard');
    assert.equal(run('find', program, '-perm', '/022', '!', '-type', 'l'), '');
  });

  test('it takes the first production sale on a read-only root, and stops at SIGTERM', async (t) => {
    const home = mkdtempSync(join(folder, 'home-'));
    const runScript = join(home, 'run-in-image');
    writeFileSync(runScript, createRunScript(root, home, config), { mode: 0o755 });
    const schemaUrl = await testSchemaUrl();
    const relay = await startPostgresRelay(schemaUrl);
    t.after(() => relay.close());
    const options = new URL(schemaUrl).searchParams.get('options') ?? '';
    const databaseUrl = `postgresql://switchyard@127.0.0.1:${relay.port}/postgres?options=${encodeURIComponent(options)}`;
    const [, ...healthCheck] = config.Healthcheck.Test;
    const writeAttempt = `try { fs.writeFileSync('/opt/switchyard/new', ''); } catch ({ code }) { console.log(code, process.getuid()); }`;
    const inImage = (command: readonly string[]) => [runScript, ...command].map(quote).join(' ');
    const { log, additionalOutput } = await runFirstProductionSale({
      home,
      databaseUrl,
      replacements: {
        'npm run -s build-portal\n': '',
        'npm run -s admin --': `${runScript} /opt/switchyard/bin/node /opt/switchyard/bin/switchyard admin`,
        'node tools/run.cjs start': `date +%s%3N > "$conf/started-at"\n${inImage(config.Entrypoint)}`,
      },
      commandsAfterSale: [
        inImage(healthCheck),
        'echo healthy',
        inImage(['/opt/switchyard/bin/node', '-e', writeAttempt]),
      ].join('\n'),
    });
    assert.deepEqual(additionalOutput, ['healthy', `EROFS ${config.User.split(':')[0]}`]);
    const lines = log.split('\n').filter((line) => line.startsWith('{'));
    const find = (msg: string) =>
      lines.map((line) => JSON.parse(line)).find((line) => line.msg === msg);
    assert.ok(find('stopped'), log);
    const startedAt = Number(readFileSync(join(home, 'switchyard/started-at'), 'utf8'));
    const megabytes = (file: string) => `${Math.round(statSync(file).size / 1e6)} MB`;
    const tarball = join(folder, 'release', `${fullName}.tar.gz`);
    t.diagnostic(`tarball ${megabytes(tarball)}, image ${megabytes(archive)}`);
    t.diagnostic(`start in the image: ${Date.parse(find('ready').time) - startedAt} ms`);
  });
});
