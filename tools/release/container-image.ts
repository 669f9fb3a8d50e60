// Builds the container image of a release with buildah.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createTarball } from '../pack/tarball.ts';
import type { DebianPackage } from './sbom.ts';

export type ContainerImageOptions = {
  /** The tarball of the release. */
  readonly tarball: string;
  /** The file to write, which `podman load` and `docker load` read. */
  readonly archive: string;
  readonly baseImage: string;
  readonly version: string;
  readonly commit: string;
  /** Epoch seconds. */
  readonly madeAt: number;
};

/** Without a registry, so that no engine downloads another image of this name. */
export const imageName = (version: string): string => `localhost/switchyard:${version}`;

export class ContainerImageFault extends Error {
  override name = 'ContainerImageFault';
}

const outputMaxBytes = 16 * 1024 * 1024;

function run(command: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    maxBuffer: outputMaxBytes,
  });
  if (error) throw new ContainerImageFault(`${command} could not be started: ${error.message}`);
  if (status !== 0) {
    throw new ContainerImageFault(`${command} ${args[0]} ended with ${status}: ${stderr.trim()}`);
  }
  return stdout.trim();
}

/** Installed packages, as a record of `Package`, `Version` and `Architecture` per paragraph. */
export function parseDebianPackages(status: string): DebianPackage[] {
  return status.split(/\n\n+/).flatMap((paragraph) => {
    const field = (name: string): string =>
      new RegExp(`^${name}: (.+)$`, 'm').exec(paragraph)?.[1] ?? '';
    const name = field('Package');
    return name === ''
      ? []
      : [{ name, version: field('Version'), architecture: field('Architecture') }];
  });
}

/** `status` of an installed Debian, or `status.d` of a base image without a package manager. */
function readDebianPackages(root: string): DebianPackage[] {
  const database = join(root, 'var/lib/dpkg');
  const folder = join(database, 'status.d');
  const files = [
    join(database, 'status'),
    ...(existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []),
  ].filter((file) => existsSync(file));
  return files.flatMap((file) => parseDebianPackages(readFileSync(file, 'utf8')));
}

type Manifest = {
  readonly config: { readonly digest: string };
  readonly layers: readonly { readonly digest: string }[];
};

const hexOf = (digest: string): string => digest.replace('sha256:', '');

/**
 * Writes the archive from the layers and the configuration that buildah has pushed to a folder. buildah adds random
 * names of its working container to the configuration: without them the same input makes the same bytes.
 */
function createArchive(folder: string, image: string, madeAt: number): Buffer {
  const read = (name: string) => readFileSync(join(folder, name));
  const manifest = JSON.parse(read('manifest.json').toString()) as Manifest;
  const pushed = JSON.parse(read(hexOf(manifest.config.digest)).toString());
  const { container: _id, container_config: _copy, config, ...others } = pushed;
  const configuration = Buffer.from(
    JSON.stringify({ ...others, config: { ...config, Hostname: '' } }),
  );
  const configurationFile = `${createHash('sha256').update(configuration).digest('hex')}.json`;
  const layers = manifest.layers.map(({ digest }) => hexOf(digest));
  const index = [
    {
      Config: configurationFile,
      RepoTags: [image],
      Layers: layers.map((layer) => `${layer}.tar.gz`),
    },
  ];
  return createTarball(
    [
      { path: 'manifest.json', bytes: Buffer.from(JSON.stringify(index)) },
      { path: configurationFile, bytes: configuration },
      ...layers.map((layer) => ({ path: `${layer}.tar.gz`, bytes: read(layer) })),
    ],
    { folder: '', modifiedAt: madeAt },
  );
}

/** @returns the packages of the base image */
export function buildContainerImage(options: ContainerImageOptions): DebianPackage[] {
  const { tarball, archive, baseImage, version, commit, madeAt } = options;
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-image-'));
  const name = `switchyard-${version}`;
  const context = join(folder, name);
  const pushed = join(folder, 'pushed');
  // Builds at the same time do not replace each other's image.
  const working = `localhost/switchyard-build-${basename(folder).toLowerCase()}`;
  try {
    run('tar', ['--extract', '--same-permissions', '--file', tarball, '--directory', folder]);
    run('buildah', [
      'build',
      '--isolation=chroot',
      '--quiet',
      '--format=docker',
      '--identity-label=false',
      `--timestamp=${madeAt}`,
      `--build-arg=BASE_IMAGE=${baseImage}`,
      `--build-arg=VERSION=${version}`,
      `--build-arg=COMMIT=${commit}`,
      `--file=${join(context, 'deploy/Containerfile')}`,
      `--tag=${working}`,
      context,
    ]);
    run('buildah', ['push', '--quiet', working, `dir:${pushed}`]);
    writeFileSync(archive, createArchive(pushed, imageName(version), madeAt));
    const container = run('buildah', ['from', '--pull-never', working]);
    try {
      return readDebianPackages(run('buildah', ['mount', container]));
    } finally {
      run('buildah', ['rm', container]);
      run('buildah', ['rmi', working]);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
