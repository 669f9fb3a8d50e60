// Caches values that are read from files, and reads changed files again.
import { statSync } from 'node:fs';

export type CachedFileValue<Value> = {
  /** Modification times, sizes and inodes of the files at the last attempt. */
  version: string;
  /** The last valid value: an invalid change must not stop a service that works. */
  value?: Value;
  /** The reason why the last change is not used. */
  error?: string;
};

/**
 * @param load parses the file; its error messages contain no secrets
 * @returns undefined if neither of the required files exists
 */
export type ReadCachedFileValue<Value> = (
  files: { required: readonly [string, ...string[]]; optional?: readonly string[] },
  load: (version: string) => Value,
) => CachedFileValue<Value> | undefined;

function describeReadError(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== undefined) return `cannot be read (${code})`;
  return error instanceof Error ? error.message : 'cannot be read';
}

/** @example const read = createFileCache({ maxBytes, maxEntries, onError }); read({ required: [path] }, parse); */
export function createFileCache<Value>(options: {
  maxBytes: number;
  maxEntries: number;
  /** Called once for each new error of a file. */
  onError: (file: string, reason: string) => void;
}): ReadCachedFileValue<Value> {
  const cache = new Map<string, CachedFileValue<Value>>();

  function fileVersion(file: string): string | undefined {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats === undefined) return undefined;
    if (stats.size > options.maxBytes) throw new Error('is too large');
    return `${stats.mtimeMs}.${stats.size}.${stats.ino}`;
  }

  function readIfChanged(
    files: readonly string[],
    requiredCount: number,
    previous: CachedFileValue<Value> | undefined,
    load: (version: string) => Value,
  ): CachedFileValue<Value> | undefined {
    let version = '';
    try {
      const versions = files.map(fileVersion);
      if (versions.slice(0, requiredCount).every((version) => version === undefined))
        return undefined;
      version = versions.join(' ');
      return previous?.version === version ? previous : { version, value: load(version) };
    } catch (error) {
      const reason = describeReadError(error);
      if (previous?.error !== reason) options.onError(files[0] ?? '', reason);
      return { ...previous, version, error: reason };
    }
  }

  return ({ required, optional = [] }, load) => {
    const [key] = required;
    const entry = readIfChanged([...required, ...optional], required.length, cache.get(key), load);
    if (entry === undefined) cache.delete(key);
    else if (cache.has(key) || cache.size < options.maxEntries) cache.set(key, entry);
    return entry;
  };
}
