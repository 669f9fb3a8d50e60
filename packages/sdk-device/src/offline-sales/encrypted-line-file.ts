/** A file of lines that are encrypted with AES-256-GCM and bound to their line numbers. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import {
  type AppendFile,
  createPrivateDirectory,
  openAppendFile,
  replaceFile,
  syncDirectory,
} from '@switchyard/sdk-core';
import { invalidError } from '../support/device-error.ts';

export type EncryptedLineFile = {
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
const durable = { sync: true };
const fileHeader = 'switchyard-offline-1 ';

/** Each file has its own key, so that a copied file never reuses a nonce with the same key. */
function deriveFileKey(key: Buffer, salt: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', key, salt, 'switchyard offline queue', keyBytes));
}

function encryptLine(key: Buffer, lineNumber: number, line: unknown): string {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  cipher.setAAD(Buffer.from(String(lineNumber)));
  const ciphertext = Buffer.concat([cipher.update(JSON.stringify(line), 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, ciphertext, cipher.getAuthTag()]).toString('base64');
}

function decryptLine(key: Buffer, lineNumber: number, text: string): unknown {
  const bytes = Buffer.from(text, 'base64');
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes));
    decipher.setAAD(Buffer.from(String(lineNumber)));
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    const plaintext = [decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()];
    return JSON.parse(Buffer.concat(plaintext).toString('utf8'));
  } catch {
    throw invalidError(
      'queue_damaged',
      `line ${lineNumber} of the queue was changed, or the key is wrong`,
    );
  }
}

/**
 * An incomplete last line was never confirmed, so the file is cut before it. Any other unreadable
 * line is damage, and opening fails.
 *
 * @throws DeviceError queue_damaged, key_invalid
 */
export function openEncryptedLineFile(path: string, masterKey: Uint8Array): EncryptedLineFile {
  if (masterKey.length !== keyBytes)
    throw invalidError('key_invalid', 'the key must have 32 bytes');
  const master = Buffer.from(masterKey);
  createPrivateDirectory(path);
  let key: Buffer = master;
  let lineCount = 0;
  let appendFile: AppendFile | undefined;

  function rewrite(lines: readonly unknown[]): void {
    const salt = randomBytes(saltBytes);
    const nextKey = deriveFileKey(master, salt);
    const encryptedLines = lines
      .map((line, lineNumber) => `${encryptLine(nextKey, lineNumber, line)}\n`)
      .join('');
    const text = `${fileHeader}${salt.toString('base64')}\n${encryptedLines}`;
    replaceFile(path, text, durable);
    const previousFile = appendFile;
    appendFile = undefined;
    key = nextKey;
    lineCount = lines.length;
    previousFile?.close();
    appendFile = openAppendFile(path, Buffer.byteLength(text), durable);
    syncDirectory(path);
  }

  function read(): unknown[] {
    const text = readFileSync(path, 'utf8');
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    const [first = '', ...rest] = whole.split('\n').slice(0, -1);
    if (!first.startsWith(fileHeader))
      throw invalidError('queue_damaged', 'the file is not an offline queue');
    key = deriveFileKey(master, Buffer.from(first.slice(fileHeader.length), 'base64'));
    const lines = rest.map((line, lineNumber) => decryptLine(key, lineNumber, line));
    appendFile = openAppendFile(path, Buffer.byteLength(whole), durable);
    lineCount = lines.length;
    return lines;
  }

  const lines = existsSync(path) ? read() : [];
  if (appendFile === undefined) rewrite([]);
  return {
    lines,
    append(line) {
      appendFile ??= openAppendFile(path, statSync(path).size, durable);
      appendFile.add(`${encryptLine(key, lineCount, line)}\n`);
      lineCount += 1;
    },
    rewrite,
    close() {
      appendFile?.close();
    },
  };
}
