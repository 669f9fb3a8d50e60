// Writes a tarball as npm reads it: the same files make the same bytes, on every machine and at any time.
import { gzipSync } from 'node:zlib';

export type PackedFile = {
  /** Below the package, with slashes. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly isExecutable?: boolean;
};

const blockBytes = 512;
const maxNameBytes = 100;
const maxPrefixBytes = 155;
/** npm reads the files of the folder with this name. */
const folder = 'package/';
/** 1985-10-26T08:15:00Z, which npm writes too: some tools refuse files of 1970. */
const modifiedAt = 499_162_500;

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

const octal = (value: number, width: number): string =>
  `${value.toString(8).padStart(width - 1, '0')}\0`;

/** A header after POSIX.1-1988 (ustar). */
function createHeader({ path, bytes, isExecutable = false }: PackedFile): Buffer {
  const header = Buffer.alloc(blockBytes);
  const [name, prefix] = splitPath(folder + path);
  header.write(name, 0);
  header.write(octal(isExecutable ? 0o755 : 0o644, 8), 100);
  header.write(octal(0, 8), 108);
  header.write(octal(0, 8), 116);
  header.write(octal(bytes.length, 12), 124);
  header.write(octal(modifiedAt, 12), 136);
  header.write(' '.repeat(8), 148);
  header.write('0', 156);
  header.write('ustar\u000000', 257);
  header.write(prefix, 345);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

/** @example writeFileSync('a.tgz', createTarball([{ path: 'package.json', bytes }])); */
export function createTarball(files: readonly PackedFile[]): Buffer {
  const parts = files
    .toSorted((one, other) => (one.path < other.path ? -1 : 1))
    .flatMap((file) => {
      const padding = (blockBytes - (file.bytes.length % blockBytes)) % blockBytes;
      return [createHeader(file), Buffer.from(file.bytes), Buffer.alloc(padding)];
    });
  return gzipSync(Buffer.concat([...parts, Buffer.alloc(2 * blockBytes)]), { level: 9 });
}
