// Writes a tarball as npm reads it: the same files make the same bytes, whoever packs them and when.
import { gzipSync } from 'node:zlib';

export type PackedFile = {
  /** Below the package, with slashes. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly isExecutable?: boolean;
};

const block = 512;
const nameMax = 100;
const prefixMax = 155;
/** npm takes what lies in the folder of this name. */
const folder = 'package/';
/** 1985-10-26T08:15:00Z, which npm writes too: some tools refuse files of 1970. */
const modifiedAt = 499_162_500;

/** A long path is cut at a slash: its head goes into a field of its own. */
function namesOf(path: string): [name: string, prefix: string] {
  if (Buffer.byteLength(path) <= nameMax) return [path, ''];
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    if (Buffer.byteLength(name) <= nameMax && Buffer.byteLength(prefix) <= prefixMax) {
      return [name, prefix];
    }
  }
  throw new RangeError(`${path} is too long for a tarball`);
}

const octal = (value: number, width: number): string =>
  `${value.toString(8).padStart(width - 1, '0')}\0`;

/** A header after POSIX.1-1988 (ustar). */
function headerOf({ path, bytes, isExecutable = false }: PackedFile): Buffer {
  const header = Buffer.alloc(block);
  const [name, prefix] = namesOf(folder + path);
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

/** @example writeFileSync('a.tgz', tarballOf([{ path: 'package.json', bytes }])); */
export function tarballOf(files: readonly PackedFile[]): Buffer {
  const parts = files
    .toSorted((one, other) => (one.path < other.path ? -1 : 1))
    .flatMap((file) => {
      const rest = (block - (file.bytes.length % block)) % block;
      return [headerOf(file), Buffer.from(file.bytes), Buffer.alloc(rest)];
    });
  return gzipSync(Buffer.concat([...parts, Buffer.alloc(2 * block)]), { level: 9 });
}
