// Writes a tarball: the same files make the same bytes, on every machine and at any time.
import { gzipSync } from 'node:zlib';

export type PackedFile = {
  /** Below the package, with slashes. A folder ends with one; the folder of the package itself is ''. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly isExecutable?: boolean;
  /** For a symbolic link, which has no bytes. */
  readonly linkTarget?: string;
};

export type TarballOptions = {
  /** The folder of all files, with a slash at its end. */
  readonly folder: string;
  /** The time of all files, in epoch seconds. */
  readonly modifiedAt: number;
  /** Of gzip, from 1 to 9; without it the tarball is not compressed. */
  readonly level?: number;
};

const blockBytes = 512;
const maxNameBytes = 100;
const maxPrefixBytes = 155;
/** The folder that npm reads, and the time that it writes (1985-10-26): some tools refuse files of 1970. */
const npmOptions: TarballOptions = { folder: 'package/', modifiedAt: 499_162_500, level: 9 };

/** A long path is cut at a slash: its head goes into a field of its own. */
function splitPath(path: string): [name: string, prefix: string] {
  if (Buffer.byteLength(path) <= maxNameBytes) return [path, ''];
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    if (Buffer.byteLength(name) <= maxNameBytes && Buffer.byteLength(prefix) <= maxPrefixBytes) {
      return [name, prefix];
    }
  }
  throw new RangeError(`${path} is too long for a tarball`);
}

const types = { file: '0', link: '2', folder: '5' };

const octal = (value: number, width: number): string =>
  `${value.toString(8).padStart(width - 1, '0')}\0`;

/** A header after POSIX.1-1988 (ustar). */
function createHeader(
  { path, bytes, isExecutable = false, linkTarget = '' }: PackedFile,
  { folder, modifiedAt }: TarballOptions,
): Buffer {
  const header = Buffer.alloc(blockBytes);
  const fullPath = folder + path;
  const [name, prefix] = splitPath(fullPath);
  const type =
    linkTarget === '' ? (fullPath.endsWith('/') ? types.folder : types.file) : types.link;
  header.write(name, 0);
  header.write(octal(isExecutable || type === types.folder ? 0o755 : 0o644, 8), 100);
  header.write(octal(0, 8), 108);
  header.write(octal(0, 8), 116);
  header.write(octal(bytes.length, 12), 124);
  header.write(octal(modifiedAt, 12), 136);
  header.write(' '.repeat(8), 148);
  header.write(type, 156);
  header.write(linkTarget, 157);
  header.write('ustar\u000000', 257);
  header.write(prefix, 345);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

/** @example writeFileSync('a.tgz', createTarball([{ path: 'package.json', bytes }])); */
export function createTarball(
  files: readonly PackedFile[],
  options: TarballOptions = npmOptions,
): Buffer {
  const parts = files
    .toSorted((one, other) => (one.path < other.path ? -1 : 1))
    .flatMap((file) => {
      const padding = (blockBytes - (file.bytes.length % blockBytes)) % blockBytes;
      return [createHeader(file, options), file.bytes, Buffer.alloc(padding)];
    });
  const tarball = Buffer.concat([...parts, Buffer.alloc(2 * blockBytes)]);
  return options.level === undefined ? tarball : gzipSync(tarball, { level: options.level });
}
