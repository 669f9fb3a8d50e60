// Creates the applications of the demo once, each with a secret that demo.json stores.
import { ProblemError } from '@switchyard/contract';
import type { Identity } from '../identity/index.ts';
import type { Ids } from '../platform/index.ts';
import type { PointsOfSale } from '../provisioning/index.ts';
import {
  acquirerUserDomain,
  type DemoApplication,
  demoApplications,
  demoServiceProvider,
  organizationId,
  serviceProviderApplication,
} from './demo-data.ts';

/** The keys are client identifiers. */
export type ClientSecrets = ReadonlyMap<string, string>;

type Deps = {
  readonly identity: Pick<
    Identity,
    | 'createUserDomain'
    | 'createApplication'
    | 'createPublicApplication'
    | 'rotateSecret'
    | 'updateCallbackPort'
  >;
  readonly pointsOfSale: Pick<PointsOfSale, 'createIfNew' | 'rotateSecret'>;
  readonly ids: Ids;
  /** The public address of the platform. */
  readonly baseUrl: string;
};

/** Creates the user domains and the missing applications; known secrets do not change. */
export async function seedApplications(
  deps: Deps,
  earlierSecret: ClientSecrets,
): Promise<ClientSecrets> {
  await deps.identity.createUserDomain(acquirerUserDomain);
  const { userDomainId, organizationId: providerId } = demoServiceProvider;
  await deps.identity.createUserDomain({ userDomainId, organizationId: providerId });
  const secrets = new Map<string, string>();
  for (const application of [...demoApplications, serviceProviderApplication]) {
    const { clientId } = application;
    const secret = await seedApplication(deps, application, earlierSecret.get(clientId));
    if (secret !== undefined) secrets.set(clientId, secret);
  }
  return secrets;
}

function createApplicationInput(application: DemoApplication, baseUrl: string) {
  const {
    clientId,
    name,
    merchantId,
    storeId,
    role,
    userDomain = acquirerUserDomain,
  } = application;
  const redirectUri = redirectUriOf(application, baseUrl);
  return {
    organizationId: userDomain.organizationId,
    userDomainId: userDomain.userDomainId,
    clientId,
    name,
    entityType: merchantId === undefined ? ('tenant' as const) : ('merchant' as const),
    entityId: merchantId ?? userDomain.organizationId,
    merchantId,
    storeId,
    roles: role === undefined ? [] : [role],
    securityFlows: [application.securityFlow ?? ('ClientCredentials' as const)],
    type: application.type ?? ('Application' as const),
    redirectUris: redirectUri === undefined ? [] : [redirectUri],
    webOrigins: redirectUri === undefined ? [] : [new URL(redirectUri).origin],
  };
}

export function redirectUriOf(
  { redirectPath }: DemoApplication,
  baseUrl: string,
): string | undefined {
  return redirectPath === undefined ? undefined : baseUrl + redirectPath;
}

async function seedPointOfSale(
  { pointsOfSale, ids }: Deps,
  { name, storeId }: DemoApplication,
  pointOfSaleId: string,
  earlierSecret: string | undefined,
): Promise<string> {
  const scope = { organizationId };
  const clientSecret = earlierSecret ?? ids.secret();
  const input = { storeId, name };
  if (await pointsOfSale.createIfNew(scope, input, pointOfSaleId, clientSecret))
    return clientSecret;
  return earlierSecret ?? (await pointsOfSale.rotateSecret(scope, pointOfSaleId)).view.clientSecret;
}

/** Returns the secret of the application, if it has one. */
async function seedApplication(
  deps: Deps,
  application: DemoApplication,
  earlierSecret: string | undefined,
): Promise<string | undefined> {
  const { clientId, isPublic, pointOfSaleId } = application;
  if (pointOfSaleId !== undefined)
    return seedPointOfSale(deps, application, pointOfSaleId, earlierSecret);
  const { identity, ids, baseUrl } = deps;
  const input = createApplicationInput(application, baseUrl);
  try {
    if (isPublic) {
      await identity.createPublicApplication(input);
      return undefined;
    }
    const clientSecret = earlierSecret ?? ids.secret();
    return (await identity.createApplication({ ...input, clientSecret })).clientSecret;
  } catch (error) {
    if (!(error instanceof ProblemError) || error.code !== 'already_exists') throw error;
  }
  // The redirect URI follows the port in the settings, unless a user has changed the URI.
  const { organizationId: ownerId } = input;
  for (const uri of input.redirectUris) await identity.updateCallbackPort(ownerId, clientId, uri);
  if (isPublic) return undefined;
  // The database stores only a hash, so a lost demo.json requires a new secret.
  return earlierSecret ?? (await identity.rotateSecret(ownerId, clientId)).clientSecret;
}
