// The ways to a token that are measured, each with what is asked of it and its requests.
import { request } from 'node:https';
import { defined } from '@switchyard/contract';
import { keptConnections, type TokenEnvironment } from './token-environment.ts';
import type { TokenWork } from './token-messages.ts';

export const tokenTargets = {
  bare: undefined,
  'client-credentials': 2500,
  refresh: 1000,
  password: 60,
  mtls: undefined,
  'mtls-handshake': undefined,
} as const;

export type TokenCaseName = keyof typeof tokenTargets;
export const tokenCaseNames = Object.keys(tokenTargets) as TokenCaseName[];

export type TokenCase = { name: TokenCaseName; work: TokenWork };

/** More would only wait: the server checks a bounded number of passwords at once. */
const passwordConnections = 8;

const formOf = (members: Record<string, string>) => new URLSearchParams(members).toString();

function clientForms({ provision }: TokenEnvironment): string[] {
  return provision.applications.map(({ clientId, clientSecret }) =>
    formOf({ grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }),
  );
}

function passwordForms({ provision }: TokenEnvironment): string[] {
  return provision.users.map(({ username, password, clientId }) =>
    formOf({ grant_type: 'password', client_id: clientId, username, password }),
  );
}

function post(target: TokenWork['target'], form: string): Promise<string> {
  const { host, port, path, ca, authority } = target;
  return new Promise((resolve, reject) => {
    const asked = request({
      host,
      port,
      path,
      ca,
      servername: 'localhost',
      method: 'POST',
      agent: false,
      headers: {
        host: authority,
        'content-type': 'application/x-www-form-urlencoded',
        'content-length': form.length,
      },
    });
    asked.on('error', reject);
    asked.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => resolve(Buffer.concat(chunks).toString()));
    });
    asked.end(form);
  });
}

/** One sign-in for each connection: from then on its refresh tokens follow from each other. */
async function beginChains(scene: TokenEnvironment): Promise<TokenWork['chains']> {
  const target = scene.target(`/oauth2/v1/${scene.provision.realm}/token`);
  const forms = passwordForms(scene);
  const { users } = scene.provision;
  const chains: { clientId: string; refreshToken: string }[] = [];
  for (let lane = 0; lane < keptConnections; lane += 1) {
    const answer = await post(target, forms[lane % forms.length] ?? '');
    const refreshToken = /"refresh_token":"([^"]+)"/.exec(answer)?.[1];
    if (refreshToken === undefined) throw new Error(`no refresh token: ${answer}`);
    chains.push({ clientId: users[lane % users.length]?.clientId ?? '', refreshToken });
  }
  return chains;
}

/** The bare line first, so that each round begins with it. */
export async function createTokenCases(
  scene: TokenEnvironment,
  wanted: readonly TokenCaseName[],
): Promise<TokenCase[]> {
  const own = scene.target(`/oauth2/v1/${scene.provision.realm}/token`);
  const kept = { target: own, connections: keptConnections, newHandshakes: false };
  const devices = {
    ...kept,
    target: scene.target('/oauth2-mtls/v1/token', 'devices'),
    forms: [],
    devices: scene.devices,
  };
  const works: Record<TokenCaseName, () => Promise<Omit<TokenWork, 'name'>>> = {
    bare: async () => ({
      ...kept,
      target: scene.target('/token', 'bare'),
      forms: clientForms(scene),
    }),
    'client-credentials': async () => ({ ...kept, forms: clientForms(scene) }),
    refresh: async () => {
      const chains = await beginChains(scene);
      return { ...kept, forms: [], ...defined({ chains }) };
    },
    password: async () => ({
      ...kept,
      forms: passwordForms(scene),
      connections: passwordConnections,
    }),
    mtls: async () => devices,
    'mtls-handshake': async () => ({ ...devices, newHandshakes: true }),
  };
  const parts: TokenCase[] = [];
  for (const name of tokenCaseNames) {
    if (name === 'bare' || wanted.includes(name)) {
      parts.push({ name, work: { name, ...(await works[name]()) } });
    }
  }
  return parts;
}
