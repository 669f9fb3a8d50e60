/** Stores tokens until they expire, one file for each profile. */
import { createHash } from 'node:crypto';
import { mkdirSync, rmdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { membersOf } from '../http/problem-details.ts';
import { fail } from '../runtime/command-error.ts';
import type { RuntimeEnvironment } from '../runtime/runtime-environment.ts';
import {
  configFolder,
  deletePrivateFile,
  readPrivateFile,
  writePrivateFile,
} from './private-files.ts';
import type { Profile } from './profiles.ts';
import type { GrantedToken } from './token-request.ts';

export type TokenStore = {
  read(): GrantedToken | undefined;
  save(token: GrantedToken): void;
  deleteTokens(): void;
  /** Runs the action in one process at a time: a refresh token can be used once. */
  withLock<Result>(action: () => Promise<Result>): Promise<Result>;
};

const lockWaitMs = 15_000;
const lockStaleMs = 60_000;
const lockPollMs = 50;

function isStale(lock: string, now: number): boolean {
  try {
    return now - statSync(lock).mtimeMs > lockStaleMs;
  } catch {
    return false;
  }
}

/** The file name depends on address, application and secret: a changed profile never uses an old token. */
export function openTokenStore(
  environment: Pick<RuntimeEnvironment, 'env' | 'clock'>,
  profile: Profile,
): TokenStore {
  const { url, authUrl, userDomainId, clientId, secret } = profile;
  const key = createHash('sha256')
    .update(JSON.stringify([url, authUrl, userDomainId, clientId, secret]))
    .digest('base64url')
    .slice(0, 24);
  const file = join(configFolder(environment), 'tokens', `${key}.json`);
  const lock = `${file}.lock`;

  async function acquireLock(): Promise<void> {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const deadline = environment.clock.now() + lockWaitMs;
    for (;;) {
      try {
        mkdirSync(lock);
        return;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      if (isStale(lock, environment.clock.now())) rmdirSync(lock);
      else if (environment.clock.now() > deadline)
        fail('fault', `Another process is still signing in. If none runs, remove ${lock}.`);
      else await pause(lockPollMs);
    }
  }

  return {
    read() {
      const text = readPrivateFile(file);
      if (text === undefined) return undefined;
      try {
        const { accessToken, expiresAt, refreshToken } = membersOf(JSON.parse(text));
        if (typeof accessToken !== 'string' || typeof expiresAt !== 'number') return undefined;
        return {
          accessToken,
          expiresAt,
          ...(typeof refreshToken === 'string' ? { refreshToken } : {}),
        };
      } catch {
        return undefined;
      }
    },
    save: (token) => writePrivateFile(file, JSON.stringify(token)),
    deleteTokens: () => deletePrivateFile(file),
    async withLock(action) {
      await acquireLock();
      try {
        return await action();
      } finally {
        rmdirSync(lock);
      }
    },
  };
}
