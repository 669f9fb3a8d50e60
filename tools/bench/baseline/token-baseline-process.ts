// The line under the tokens, a process of its own: bare Fastify over TLS and jose signing, nothing else.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import Fastify from 'fastify';
import { generateKeyPair, SignJWT } from 'jose';

export type ToTokenBaseline = { certFile: string; keyFile: string };
export type FromTokenBaseline =
  | { type: 'listening'; port: number }
  | { type: 'fault'; text: string };

const lifetimeSeconds = 3600;
/** As long as the claims of a machine's token. */
const claims = {
  iss: 'https://localhost:8443/auth/realms/bench',
  sub: randomUUID(),
  aud: 'till-0000',
  azp: 'till-0000',
  client_id: 'till-0000',
  typ: 'Bearer',
  scope: 'profile email',
  user_domain: 'bench',
  entityId: randomUUID(),
  um_scope: { entityId: randomUUID(), entityType: 'tenant' },
  permissions: ['pay.sale', 'pay.capture', 'pay.refund', 'pay.cancel', 'pay.read', 'cc.pos'],
  groups: [],
};

async function serve({ certFile, keyFile }: ToTokenBaseline): Promise<number> {
  const { privateKey } = await generateKeyPair('ES256');
  const app = Fastify({ https: { cert: readFileSync(certFile), key: readFileSync(keyFile) } });
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_request, body, done) => done(null, new URLSearchParams(String(body))),
  );
  app.post('/token', async (request) => {
    const form = request.body as URLSearchParams;
    if (form.get('grant_type') !== 'client_credentials') throw new Error('another grant');
    const token = await new SignJWT({ ...claims, jti: randomUUID() })
      .setProtectedHeader({ alg: 'ES256', kid: 'bench', typ: 'JWT' })
      .setIssuedAt()
      .setNotBefore('0s')
      .setExpirationTime(`${lifetimeSeconds}s`)
      .sign(privateKey);
    return {
      access_token: token,
      expires_in: lifetimeSeconds,
      refresh_expires_in: 0,
      token_type: 'Bearer',
      'not-before-policy': 0,
      scope: claims.scope,
    };
  });
  return Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port);
}

process.on('message', (message: ToTokenBaseline) => {
  serve(message).then(
    (port) => process.send?.({ type: 'listening', port } satisfies FromTokenBaseline),
    (error: unknown) =>
      process.send?.({ type: 'fault', text: String(error) } satisfies FromTokenBaseline),
  );
});
process.on('disconnect', () => process.exit(0));
