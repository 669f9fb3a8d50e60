/** Verifies a document with a detached signature of the platform, and the files that the document names. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type AuditKey, verifyDetachedJws } from '@switchyard/contract';
import { membersOf } from '../../http/problem-details.ts';
import { describeFileError, fail } from '../../runtime/command-error.ts';

function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    return fail('usage', `${file} cannot be read: ${describeFileError(error)}.`);
  }
}

/** The member `files` of a document in JSON: names of files beside it, with their SHA-256. */
function listFiles(document: Buffer): readonly { name: string; sha256: string }[] {
  try {
    const { files = [] } = membersOf(JSON.parse(document.toString('utf8')));
    return files as { name: string; sha256: string }[];
  } catch {
    // A signed document can have another format than JSON.
    return [];
  }
}

/**
 * Returns the names of the files that the document names.
 *
 * @throws CommandError refused if the document or one of the files was changed, or the key is unknown
 */
export async function verifySignedDocument(
  file: string,
  keys: readonly AuditKey[],
): Promise<readonly string[]> {
  const document = readBytes(file);
  const result = await verifyDetachedJws(document, readBytes(`${file}.jws`).toString('utf8'), keys);
  if (result === 'KeyUnknown')
    fail('refused', `${file} is signed with a key that is not in the list of audit keys.`);
  if (result === 'Invalid')
    fail('refused', `The signature is not valid for ${file}: one of the two files was changed.`);
  return listFiles(document).map(({ name, sha256 }) => {
    const path = join(dirname(file), basename(name));
    if (hash('sha256', readBytes(path)) !== sha256)
      fail('refused', `${path} was changed after ${file} was signed.`);
    return path;
  });
}
