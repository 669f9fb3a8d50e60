// The files of a release: our sources without tests, the built sites, production packages and Node.js.
import { execFileSync } from 'node:child_process';
import { globSync, lstatSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import type { PackedFile } from '../pack/tarball.ts';
import { documentation, portal } from '../sites/sites.ts';
import type { ProductionPackages } from './production-packages.ts';

/** Node.js of a release, from its npm package. */
export const nodePackage = `node-${process.platform}-${process.arch}`;

const listMaxBytes = 64 * 1024 * 1024;
const isTest = (path: string): boolean =>
  /\.(?:test|fixture)\.ts$|^packages\/[^/]+\/(?:test|vectors)\//.test(path);
/** Only compilers and debuggers read these files. */
const isForDevelopment = (path: string): boolean => /\.(?:map|[cm]?ts)$/.test(path);

/** Tracked and new files, with the changes of the working tree. */
function listRepositoryFiles(root: string, folders: readonly string[]): string[] {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...folders];
  const output = execFileSync('git', args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: listMaxBytes,
  });
  return output.split('\0').filter((path) => path !== '');
}

function listFiles(root: string, folder: string): string[] {
  return globSync('**/{*,.*}', { cwd: join(root, folder), withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(root, join(parentPath, name)).split(sep).join('/'));
}

function readFile(root: string, path: string): PackedFile {
  const isExecutable = (lstatSync(join(root, path)).mode & 0o100) !== 0;
  return { path, bytes: readFileSync(join(root, path)), isExecutable };
}

/** npm's name for the commit of a published package. */
function addCommit(file: PackedFile, commit: string): PackedFile {
  const manifest = { ...JSON.parse(Buffer.from(file.bytes).toString()), gitHead: commit };
  return { ...file, bytes: Buffer.from(`${JSON.stringify(manifest, undefined, 2)}\n`) };
}

function findFolders(files: readonly PackedFile[]): PackedFile[] {
  const folders = new Set<string>();
  for (const { path } of files) {
    for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
      folders.add(path.slice(0, at + 1));
    }
  }
  return ['', ...folders].map((path) => ({ path, bytes: new Uint8Array() }));
}

/** @param root the folder of the repository, with installed packages and built sites */
export function readReleaseFiles(
  root: string,
  commit: string,
  { packages, ownFolders }: ProductionPackages,
): PackedFile[] {
  const folders = [...ownFolders];
  const sources = listRepositoryFiles(root, [
    ...folders,
    'packages/pkcs11',
    'tools/admin',
    'deploy',
    'LICENSE',
    'CHANGELOG.md',
  ]).filter((path) => !isTest(path));
  const sites = [portal, documentation]
    .flatMap(({ builtFolder }) => listFiles(root, builtFolder))
    .filter((path) => !path.endsWith('/.built-from'));
  const modules = [...packages.keys()]
    .filter((path) => path !== `node_modules/${nodePackage}`)
    .flatMap((path) => listFiles(root, path).filter((file) => !isInInnerPackage(file, path)))
    .filter((path) => !isForDevelopment(path));
  const { name, version, license, type } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  );
  const manifest = { name, version, private: true, license, type };
  const files: PackedFile[] = [
    { path: 'package.json', bytes: Buffer.from(JSON.stringify(manifest)) },
    ...[...sources, ...sites, ...modules].map((path) => readFile(root, path)),
    { ...readFile(root, `node_modules/${nodePackage}/bin/node`), path: 'bin/node' },
    {
      path: 'bin/switchyard',
      bytes: new Uint8Array(),
      linkTarget: '../packages/cli/bin/switchyard.cjs',
    },
    ...folders.map((folder) => ({
      path: `node_modules/@switchyard/${folder.slice('packages/'.length)}`,
      bytes: new Uint8Array(),
      linkTarget: `../../${folder}`,
    })),
  ].map((file) =>
    /^(?:packages\/[^/]+\/)?package\.json$/.test(file.path) ? addCommit(file, commit) : file,
  );
  return [...findFolders(files), ...files];
}

/** A package below another one has a path of its own, and may be left out. */
function isInInnerPackage(file: string, path: string): boolean {
  return file.slice(path.length).includes('/node_modules/');
}
