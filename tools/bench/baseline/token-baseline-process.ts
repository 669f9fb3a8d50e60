// The baseline of the tokens, in its own process: Fastify over TLS, and jose for the signatures.
import { randomUUID } from 'node:crypto';
import Fastify from 'fastify';
import { generateKeyPair, SignJWT } from 'jose';
import { offerFunctions } from '../bench-process.ts';

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

async function serve(https: { cert: string; key: string }): Promise<number> {
  const { privateKey } = await generateKeyPair('ES256');
  const app = Fastify({ https });
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

const functions = { serve };
export type TokenBaselineFunctions = typeof functions;

offerFunctions(functions);
