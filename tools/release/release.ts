// Makes the files of a release in a folder: tarball, container image, lists of components, hashes and notes.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTarball, type PackedFile } from '../pack/tarball.ts';
import { repositoryRoot } from '../repository-root.ts';
import { buildSite } from '../sites/build.ts';
import { documentation, portal } from '../sites/sites.ts';
import { buildContainerImage } from './container-image.ts';
import { findProductionPackages, type LockFile } from './production-packages.ts';
import { nodePackage, readReleaseFiles } from './release-files.ts';
import { readReleaseNotes } from './release-notes.ts';
import { createSbom } from './sbom.ts';
import { createThirdPartyNotices } from './third-party-notices.ts';

export type ReleaseOptions = {
  readonly folder: string;
  /** Makes a container image on this base image. */
  readonly baseImage?: string | undefined;
  /** Signs the hashes with this secret key of minisign. */
  readonly keyFile?: string | undefined;
  /** Accepts files that no commit contains. */
  readonly allowChanges?: boolean;
  printLine(line: string): void;
};

export class ReleaseFault extends Error {
  override name = 'ReleaseFault';
}

/** Libraries of which the documentation site has parts; they are packages of development here. */
const documentationPackages = [
  '@vue/reactivity',
  '@vue/runtime-core',
  '@vue/runtime-dom',
  '@vue/shared',
  '@vueuse/core',
  '@vueuse/shared',
  'focus-trap',
  'mark.js',
  'minisearch',
  'vitepress',
  'vue',
];

const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: repositoryRoot, encoding: 'utf8' }).trim();

function findCommit(allowChanges: boolean): { commit: string; committedAt: number } {
  const hash = git('rev-parse', 'HEAD');
  const isChanged = git('status', '--porcelain') !== '';
  if (isChanged && !allowChanges) {
    throw new ReleaseFault(
      'The working tree differs from its commit. Commit the changes, or add --allow-changes for a trial.',
    );
  }
  const committedAt = Number(process.env['SOURCE_DATE_EPOCH'] ?? git('log', '-1', '--format=%ct'));
  return { commit: isChanged ? `${hash}-changed` : hash, committedAt };
}

/** The packages of the server and the command, and those whose code is in the built sites. */
function findPackages() {
  const lock = JSON.parse(
    readFileSync(join(repositoryRoot, 'package-lock.json'), 'utf8'),
  ) as LockFile;
  const platform = { os: process.platform, cpu: process.arch, libc: 'glibc' };
  const installed = findProductionPackages(
    lock,
    ['packages/server', 'packages/cli', `node_modules/${nodePackage}`],
    platform,
  );
  const { packages: ofPortal } = findProductionPackages(lock, ['packages/portal'], platform);
  const ofDocumentation = documentationPackages.map((name) => {
    const path = `node_modules/${name}`;
    const { version = '', license = '', integrity = '' } = lock.packages[path] ?? {};
    if (version === '') throw new ReleaseFault(`${name} is not in package-lock.json`);
    return { path, name, version, license, integrity, dependencies: [] };
  });
  const all = new Map([
    ...ofDocumentation.map((each) => [each.path, each] as const),
    ...ofPortal,
    ...installed.packages,
  ]);
  return { installed, all: [...all.values()] };
}

function sign(file: string, keyFile: string, comment: string): void {
  const args = ['-S', '-s', keyFile, '-m', file, '-t', comment];
  // minisign asks for the password of the key on the terminal.
  const { status, error } = spawnSync('minisign', args, { stdio: 'inherit' });
  if (error) throw new ReleaseFault(`minisign could not be started: ${error.message}`);
  if (status !== 0) throw new ReleaseFault(`minisign ended with ${status}`);
}

/** @throws ReleaseFault if the folder, which will be deleted, has files that are not of a release */
function requireReleaseFolder(folder: string): void {
  if (!existsSync(folder)) return;
  const other = readdirSync(folder).find((name) => !/^(?:switchyard-\d|SHA256SUMS)/.test(name));
  if (other === undefined) return;
  throw new ReleaseFault(
    `${folder} contains ${other}, which is not a file of a release. The command empties the output folder: name a new one with --out.`,
  );
}

const sha256 = (file: string): string =>
  createHash('sha256').update(readFileSync(file)).digest('hex');

/**
 * Writes the release to the folder, in place of an older one.
 *
 * @returns the names of its files
 * @throws ReleaseFault for changed files, other files in the folder, and a failed tool
 */
export async function makeRelease(options: ReleaseOptions): Promise<string[]> {
  const { folder, baseImage, keyFile, printLine } = options;
  requireReleaseFolder(folder);
  const { commit, committedAt } = findCommit(options.allowChanges === true);
  const { version } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8'));
  const notes = readReleaseNotes(
    readFileSync(join(repositoryRoot, 'CHANGELOG.md'), 'utf8'),
    version,
  );
  const { installed, all } = findPackages();
  const notices = createThirdPartyNotices(repositoryRoot, all);
  for (const site of [portal, documentation]) {
    await buildSite(site, { root: repositoryRoot, printLine });
  }
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const subject = { version, commit, madeAt: committedAt };
  const sbom = createSbom({ type: 'application', ...subject }, all);
  const textFile = (path: string, text: string): PackedFile => ({ path, bytes: Buffer.from(text) });
  const files = [
    ...readReleaseFiles(repositoryRoot, commit, installed),
    textFile('THIRD-PARTY-NOTICES.txt', notices),
    textFile('sbom.cdx.json', sbom),
  ];
  const name = `switchyard-${version}`;
  const fullName = `${name}-${process.platform}-${process.arch}`;
  const put = (file: string, content: string | Uint8Array) =>
    writeFileSync(join(folder, file), content);
  const tarball = createTarball(files, { folder: `${name}/`, modifiedAt: committedAt, level: 6 });
  put(`${fullName}.tar.gz`, tarball);
  put(`${fullName}.cdx.json`, sbom);
  put(`${name}-notes.md`, notes);
  if (baseImage !== undefined) {
    const debianPackages = buildContainerImage({
      tarball: join(folder, `${fullName}.tar.gz`),
      archive: join(folder, `${fullName}-image.tar`),
      baseImage,
      ...subject,
    });
    put(
      `${fullName}-image.cdx.json`,
      createSbom({ type: 'container', ...subject }, all, debianPackages),
    );
  }
  const names = readdirSync(folder).toSorted();
  put('SHA256SUMS', names.map((file) => `${sha256(join(folder, file))}  ${file}\n`).join(''));
  if (keyFile !== undefined) sign(join(folder, 'SHA256SUMS'), keyFile, `${name} ${commit}`);
  return readdirSync(folder).toSorted();
}
