/** A file of lines that nobody reads or changes without the key: AES-256-GCM, each line bound to its place. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { invalid } from './errors.ts';

export type SealedFile = {
  /** What was there when it was opened. */
  readonly lines: readonly unknown[];
  /** Durable when it returns. */
  append(line: unknown): void;
  /** All anew, in one step: the old file is there until the new one is whole. */
  rewrite(lines: readonly unknown[]): void;
  close(): void;
};

const keyBytes = 32;
const saltBytes = 16;
const nonceBytes = 12;
const tagBytes = 16;
const ownerOnly = 0o600;
const ownerOnlyDirectory = 0o700;
const head = 'switchyard-offline-1 ';

/** A key of its own for each file: no nonce meets the same key twice, whatever is copied. */
function keyOf(key: Buffer, salt: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', key, salt, 'switchyard offline queue', keyBytes));
}

function seal(key: Buffer, place: number, line: unknown): string {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  cipher.setAAD(Buffer.from(String(place)));
  const sealed = Buffer.concat([cipher.update(JSON.stringify(line), 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, sealed, cipher.getAuthTag()]).toString('base64');
}

function unseal(key: Buffer, place: number, text: string): unknown {
  const bytes = Buffer.from(text, 'base64');
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes));
    decipher.setAAD(Buffer.from(String(place)));
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    const plain = [decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()];
    return JSON.parse(Buffer.concat(plain).toString('utf8'));
  } catch {
    throw invalid('queue_damaged', `line ${place} of the queue was changed, or the key is another`);
  }
}

function syncDirectory(path: string): void {
  if (process.platform === 'win32') return;
  const directory = openSync(path, 'r');
  fsyncSync(directory);
  closeSync(directory);
}

/**
 * A line that was torn when the process ended was never promised to anybody, and is cut off; every
 * other one that cannot be read is damage, and is told.
 *
 * @throws DeviceError queue_damaged, key_invalid
 */
export function openSealedFile(path: string, masterKey: Uint8Array): SealedFile {
  if (masterKey.length !== keyBytes) throw invalid('key_invalid', 'a key has 32 bytes');
  const master = Buffer.from(masterKey);
  mkdirSync(dirname(path), { recursive: true, mode: ownerOnlyDirectory });
  let key: Buffer = master;
  let places = 0;
  let file = -1;

  function rewrite(lines: readonly unknown[]): void {
    const salt = randomBytes(saltBytes);
    key = keyOf(master, salt);
    const text = lines.map((line, place) => `${seal(key, place, line)}\n`).join('');
    writeFileSync(`${path}.new`, `${head}${salt.toString('base64')}\n${text}`, {
      mode: ownerOnly,
      flush: true,
    });
    renameSync(`${path}.new`, path);
    syncDirectory(dirname(path));
    if (file !== -1) closeSync(file);
    file = openSync(path, 'a', ownerOnly);
    places = lines.length;
  }

  function read(): unknown[] {
    const text = readFileSync(path, 'utf8');
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    const [first = '', ...rest] = whole.split('\n').slice(0, -1);
    if (!first.startsWith(head)) throw invalid('queue_damaged', 'the file is no queue');
    key = keyOf(master, Buffer.from(first.slice(head.length), 'base64'));
    const lines = rest.map((line, place) => unseal(key, place, line));
    file = openSync(path, 'a', ownerOnly);
    if (whole.length < text.length) ftruncateSync(file, Buffer.byteLength(whole));
    places = lines.length;
    return lines;
  }

  const lines = existsSync(path) ? read() : [];
  if (file === -1) rewrite([]);
  return {
    lines,
    append(line) {
      writeSync(file, `${seal(key, places, line)}\n`);
      fdatasyncSync(file);
      places += 1;
    },
    rewrite,
    close() {
      closeSync(file);
    },
  };
}
