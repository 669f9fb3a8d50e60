// Serves the built portal: a page with a nonce for each request, and files with permanent names.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { type Clock, isProcessAlive } from '../../platform/index.ts';

/** The placeholder of the build: each response gets its own nonce here. */
const noncePlaceholder = '__CSP_NONCE__';
/** A new build may appear at any time; the server shows it within this time. */
const recheckMs = 1_000;
const cachedBytesMax = 16 * 1024 * 1024;
const lasting = 'public, max-age=31536000, immutable';
const hourly = 'public, max-age=3600';
const nameForm = /^[\w-][\w.-]{0,127}$/;

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

/** The server sends the first precompressed encoding that the browser accepts. */
const encodings = [
  { name: 'br', ending: '.br', form: /\bbr\b(?!\s*;\s*q=0(?:\.0*)?(?:\s*[,;]|$))/ },
  { name: 'gzip', ending: '.gz', form: /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:\s*[,;]|$))/ },
] as const;

export type Bundle = {
  /** Returns the page with this nonce; undefined if there is no build yet. */
  page(nonce: string): Promise<string | undefined>;
  /**
   * Returns false if the file does not exist. The name depends on the content, so browsers cache
   * the file permanently.
   */
  sendAsset(name: string, request: FastifyRequest, reply: FastifyReply): Promise<boolean>;
  /** Sends a file with a fixed name, such as the icon of the site. */
  sendFile(name: string, request: FastifyRequest, reply: FastifyReply): Promise<boolean>;
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

export function createBundle(folder: string, clock: Clock): Bundle {
  const files = new LRUCache<string, Read>({
    maxSize: cachedBytesMax,
    sizeCalculation: ({ content }) => content.length + 1,
  });
  const pagePath = join(folder, 'index.html');
  let page: { readonly parts: readonly string[]; readonly version: string } | undefined;
  let nextCheckAt = 0;

  async function pageVersion(): Promise<string | undefined> {
    try {
      const { mtimeMs, size, ino } = await stat(pagePath);
      return `${mtimeMs} ${size} ${ino}`;
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw error;
    }
  }

  async function loadNewBuild(): Promise<void> {
    const version = await pageVersion();
    if (version === page?.version) return;
    const content = version === undefined ? undefined : await readIfThere(pagePath);
    page =
      content === undefined || version === undefined
        ? undefined
        : { parts: content.toString().split(noncePlaceholder), version };
    files.clear();
  }

  async function read(name: string): Promise<Read | undefined> {
    const cached = files.get(name);
    if (cached !== undefined) return cached;
    const content = await readIfThere(join(folder, name));
    if (content === undefined) return undefined;
    const digest = createHash('sha256').update(content).digest('base64url').slice(0, 16);
    const made = { content, tag: `"${digest}"` };
    files.set(name, made);
    return made;
  }

  async function readBest(name: string, accepted: string) {
    for (const { name: encoding, ending, form } of encodings) {
      if (!form.test(accepted)) continue;
      const file = await read(name + ending);
      if (file !== undefined) return { ...file, encoding };
    }
    const plain = await read(name);
    return plain === undefined ? undefined : { ...plain, encoding: undefined };
  }

  async function send(
    name: string,
    under: string,
    cacheControl: string,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<boolean> {
    const type = types[extname(name)];
    if (type === undefined || !nameForm.test(name)) return false;
    const accepted = String(request.headers['accept-encoding'] ?? '');
    const file = await readBest(under + name, accepted);
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
  }

  return {
    async page(nonce) {
      const now = clock.now();
      if (now >= nextCheckAt || now < nextCheckAt - recheckMs) {
        await loadNewBuild();
        nextCheckAt = now + recheckMs;
      }
      return page?.parts.join(nonce);
    },

    sendAsset: (name, ...to) => send(name, 'assets/', lasting, ...to),
    sendFile: (name, ...to) => send(name, '', hourly, ...to),
  };
}

/** The building process holds this lock and writes its process ID into it. */
const lockFile = fileURLToPath(new URL('../../../../../.cache/portal.lock/pid', import.meta.url));

export function isBuilding(file = lockFile): boolean {
  try {
    return isProcessAlive(Number(readFileSync(file, 'utf8')));
  } catch {
    // No process holds the lock.
    return false;
  }
}
