/** Reads host tables: built-in ones by name, others from JSON files. */
import { findHostTable, type HostTable, HostTableError, readHostTable } from '@switchyard/iso8583';
import { Type } from 'typebox';
import { readCheckedDocument } from '../files/checked-document.ts';

const anyObject = Type.Object({});

/**
 * @param nameOrFile `iso1987-binary`, or a file
 * @throws CommandError with all mistakes of the file, their lines and JSON pointers
 */
export function readTableFile(nameOrFile: string): HostTable {
  const ownTable = findHostTable(nameOrFile);
  if (ownTable !== undefined) return ownTable;
  const { value, requireNoErrors } = readCheckedDocument(nameOrFile, anyObject);
  try {
    return readHostTable(value);
  } catch (error) {
    if (!(error instanceof HostTableError)) throw error;
    requireNoErrors(
      error.mistakes.map(({ pointer, problem }) => ({
        path: pointer.split('/').slice(1),
        detail: problem,
      })),
    );
    throw error;
  }
}
