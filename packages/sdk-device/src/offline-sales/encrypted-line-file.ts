/** A file of lines that are encrypted with AES-256-GCM and bound to their line numbers. */
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
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { invalid } from '../support/device-error.ts';

export type SealedFile = {
  /** The lines of the file when it was opened. */
  readonly lines: readonly unknown[];
  /** Durable when it returns. */
  append(line: unknown): void;
  /** Replaces all lines in one step; the old file stays until the new one is complete. */
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

/** Each file has its own key, so that a copied file never reuses a nonce with the same key. */
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

type Tail = { add(text: string): void; close(): void };

/** The end of a file of complete lines. It removes a line whose append failed, complete or not. */
function openTail(path: string, wholeBytes: number): Tail {
  const file = openSync(path, 'a', ownerOnly);
  let size = wholeBytes;
  let isTorn = true;

  function cutBack(): void {
    ftruncateSync(file, size);
    isTorn = false;
  }

  return {
    add(text) {
      if (isTorn) cutBack();
      const bytes = Buffer.from(text);
      isTorn = true;
      try {
        for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
        fdatasyncSync(file);
        isTorn = false;
      } finally {
        if (isTorn) cutBack();
      }
      size += bytes.length;
    },
    close: () => closeSync(file),
  };
}

/**
 * An incomplete last line was never confirmed, so the file is cut before it. Any other unreadable
 * line is damage, and opening fails.
 *
 * @throws DeviceError queue_damaged, key_invalid
 */
export function openSealedFile(path: string, masterKey: Uint8Array): SealedFile {
  if (masterKey.length !== keyBytes) throw invalid('key_invalid', 'a key has 32 bytes');
  const master = Buffer.from(masterKey);
  mkdirSync(dirname(path), { recursive: true, mode: ownerOnlyDirectory });
  let key: Buffer = master;
  let places = 0;
  let tail: Tail | undefined;

  function rewrite(lines: readonly unknown[]): void {
    const salt = randomBytes(saltBytes);
    const next = keyOf(master, salt);
    const sealed = lines.map((line, place) => `${seal(next, place, line)}\n`).join('');
    const text = `${head}${salt.toString('base64')}\n${sealed}`;
    writeFileSync(`${path}.new`, text, { mode: ownerOnly, flush: true });
    renameSync(`${path}.new`, path);
    const former = tail;
    tail = undefined;
    key = next;
    places = lines.length;
    former?.close();
    tail = openTail(path, Buffer.byteLength(text));
    syncDirectory(dirname(path));
  }

  function read(): unknown[] {
    const text = readFileSync(path, 'utf8');
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    const [first = '', ...rest] = whole.split('\n').slice(0, -1);
    if (!first.startsWith(head)) throw invalid('queue_damaged', 'the file is no queue');
    key = keyOf(master, Buffer.from(first.slice(head.length), 'base64'));
    const lines = rest.map((line, place) => unseal(key, place, line));
    tail = openTail(path, Buffer.byteLength(whole));
    places = lines.length;
    return lines;
  }

  const lines = existsSync(path) ? read() : [];
  if (tail === undefined) rewrite([]);
  return {
    lines,
    append(line) {
      tail ??= openTail(path, statSync(path).size);
      tail.add(`${seal(key, places, line)}\n`);
      places += 1;
    },
    rewrite,
    close() {
      tail?.close();
    },
  };
}
