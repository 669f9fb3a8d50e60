// Serves the files of a built site from memory: the best precompressed form, with an ETag.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { type Clock, isProcessAlive } from '../../platform/index.ts';

/** A new build may appear at any time; the server shows it within this time. */
const recheckMs = 1_000;
const cachedBytesMax = 16 * 1024 * 1024;
/** For files whose name depends on their content. */
export const cacheForever = 'public, max-age=31536000, immutable';
export const cacheOneHour = 'public, max-age=3600';
/** Plain folder and file names: no `..`, no name that begins with a full stop. */
const pathForm = /^(?:[\w@-][\w.@-]{0,127}\/){0,4}[\w@-][\w.@-]{0,127}$/;

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
  '.json': 'application/json',
  '.ico': 'image/x-icon',
};

const pageType = 'text/html; charset=utf-8';

/** The server sends the first precompressed encoding that the browser accepts. */
const encodings = [
  { name: 'br', ending: '.br', form: /\bbr\b(?!\s*;\s*q=0(?:\.0*)?(?:\s*[,;]|$))/ },
  { name: 'gzip', ending: '.gz', form: /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:\s*[,;]|$))/ },
] as const;

export type BuiltFolder = {
  /** Returns `index.html`, the same object until there is a new build; undefined if there is no build yet. */
  index(): Promise<Buffer | undefined>;
  /** Returns false if the folder has no file of this path, or of no known type. */
  send(
    path: string,
    cacheControl: string,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<boolean>;
};

type Read = { readonly content: Buffer; readonly tag: string };

const isAbsent = (error: unknown): boolean =>
  ['ENOENT', 'ENOTDIR', 'EISDIR'].includes(String((error as NodeJS.ErrnoException).code));

async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** With `servesPages` it also serves HTML pages: the portal sends its only page with a nonce instead. */
export function createBuiltFolder(
  folder: string,
  clock: Clock,
  { servesPages = false } = {},
): BuiltFolder {
  const files = new LRUCache<string, Read>({
    maxSize: cachedBytesMax,
    sizeCalculation: ({ content }) => content.length + 1,
  });
  const indexPath = join(folder, 'index.html');
  let index: { readonly content: Buffer; readonly version: string } | undefined;
  let nextCheckAt = 0;

  async function indexVersion(): Promise<string | undefined> {
    try {
      const { mtimeMs, size, ino } = await stat(indexPath);
      return `${mtimeMs} ${size} ${ino}`;
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw error;
    }
  }

  async function loadNewBuild(): Promise<void> {
    const version = await indexVersion();
    if (version === index?.version) return;
    const content = version === undefined ? undefined : await readIfThere(indexPath);
    index = content === undefined || version === undefined ? undefined : { content, version };
    files.clear();
  }

  async function checkForNewBuild(): Promise<void> {
    const now = clock.now();
    if (now < nextCheckAt && now >= nextCheckAt - recheckMs) return;
    await loadNewBuild();
    nextCheckAt = now + recheckMs;
  }

  async function read(name: string): Promise<Read | undefined> {
    const cached = files.get(name);
    if (cached !== undefined) return cached;
    const content = await readIfThere(join(folder, name));
    if (content === undefined) return undefined;
    const digest = createHash('sha256').update(content).digest('base64url').slice(0, 16);
    const file = { content, tag: `"${digest}"` };
    files.set(name, file);
    return file;
  }

  /** Fonts and pictures have no precompressed copies. */
  async function readSmallestEncoding(name: string, type: string, accepted: string) {
    const candidates = /^(?:text|application\/json|image\/svg)/.test(type) ? encodings : [];
    for (const { name: encoding, ending, form } of candidates) {
      if (!form.test(accepted)) continue;
      const file = await read(name + ending);
      if (file !== undefined) return { ...file, encoding };
    }
    const plain = await read(name);
    return plain === undefined ? undefined : { ...plain, encoding: undefined };
  }

  return {
    async index() {
      await checkForNewBuild();
      return index?.content;
    },

    async send(path, cacheControl, request, reply) {
      const extension = extname(path);
      const type = servesPages && extension === '.html' ? pageType : types[extension];
      if (type === undefined || !pathForm.test(path)) return false;
      const accepted = String(request.headers['accept-encoding'] ?? '');
      const file = await readSmallestEncoding(path, type, accepted);
      if (file === undefined) return false;
      reply
        .type(type)
        .header('cache-control', cacheControl)
        .header('vary', 'accept-encoding')
        .header('etag', file.tag);
      if (request.headers['if-none-match'] === file.tag) {
        await reply.code(304).send();
        return true;
      }
      if (file.encoding !== undefined) reply.header('content-encoding', file.encoding);
      await reply.send(file.content);
      return true;
    },
  };
}

const cacheFolder = fileURLToPath(new URL('../../../../../.cache', import.meta.url));

/** Returns true while a process of `tools/sites/build.ts` holds the lock of this site. */
export function isBuilding(site: 'portal' | 'documentation', folder = cacheFolder): boolean {
  try {
    return isProcessAlive(Number(readFileSync(join(folder, `build-${site}.lock/pid`), 'utf8')));
  } catch {
    // No process holds the lock.
    return false;
  }
}
