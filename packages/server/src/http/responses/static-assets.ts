// Serves files that do not change while the process runs: compressed once, with an ETag.
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

const compress = promisify(gzip);

export type StaticAsset = {
  send(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>;
};

export type StaticAssetSource = {
  readonly type: string;
  readonly cacheControl: string;
  read(): Buffer | Promise<Buffer>;
};

type LoadedAsset = { readonly plain: Buffer; readonly zipped: Buffer; readonly tag: string };

/** Reads the file at the first request, so that unused files take no memory. */
export function createStaticAsset({ type, cacheControl, read }: StaticAssetSource): StaticAsset {
  let loading: Promise<LoadedAsset> | undefined;

  async function load(): Promise<LoadedAsset> {
    const plain = await read();
    const digest = createHash('sha256').update(plain).digest('base64url').slice(0, 16);
    return { plain, zipped: await compress(plain), tag: `W/"${digest}"` };
  }

  return {
    async send(request, reply) {
      loading ??= load();
      const { plain, zipped, tag } = await loading;
      reply
        .type(type)
        .header('cache-control', cacheControl)
        .header('vary', 'accept-encoding')
        .header('x-content-type-options', 'nosniff')
        .header('etag', tag);
      if (request.headers['if-none-match'] === tag) return reply.code(304).send();
      if (!/\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))) {
        return reply.send(plain);
      }
      return reply.header('content-encoding', 'gzip').send(zipped);
    },
  };
}
