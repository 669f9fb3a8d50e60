// Creates the applications of the demo once, each with a secret that demo.json stores.
import { ProblemError } from '@switchyard/contract';
import type { Identity } from '../identity/index.ts';
import type { Ids } from '../platform/index.ts';
import type { PointsOfSale } from '../provisioning/index.ts';
import {
  acquirerHome,
  type DemoApplication,
  demoApplications,
  demoServiceProvider,
  organizationId,
  providerServer,
} from './catalogue.ts';

/** The keys are client identifiers. */
export type Secrets = ReadonlyMap<string, string>;

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
export async function seedApplications(deps: Deps, known: Secrets): Promise<Secrets> {
  await deps.identity.createUserDomain(acquirerHome);
  const { userDomainId, organizationId: providerId } = demoServiceProvider;
  await deps.identity.createUserDomain({ userDomainId, organizationId: providerId });
  const secrets = new Map<string, string>();
  for (const application of [...demoApplications, providerServer]) {
    const { clientId } = application;
    const secret = await seedApplication(deps, application, known.get(clientId));
    if (secret !== undefined) secrets.set(clientId, secret);
  }
  return secrets;
}

function newApplicationOf(application: DemoApplication, baseUrl: string) {
  const { clientId, name, merchantId, storeId, role, home = acquirerHome } = application;
  const redirectUri = redirectUriOf(application, baseUrl);
  return {
    organizationId: home.organizationId,
    userDomainId: home.userDomainId,
    clientId,
    name,
    entityType: merchantId === undefined ? ('tenant' as const) : ('merchant' as const),
    entityId: merchantId ?? home.organizationId,
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
  known: string | undefined,
): Promise<string> {
  const scope = { organizationId };
  const clientSecret = known ?? ids.secret();
  const input = { storeId, name };
  if (await pointsOfSale.createIfNew(scope, input, pointOfSaleId, clientSecret))
    return clientSecret;
  return known ?? (await pointsOfSale.rotateSecret(scope, pointOfSaleId)).view.clientSecret;
}

/** Returns the secret of the application, if it has one. */
async function seedApplication(
  deps: Deps,
  application: DemoApplication,
  known: string | undefined,
): Promise<string | undefined> {
  const { clientId, isPublic, pointOfSaleId } = application;
  if (pointOfSaleId !== undefined) return seedPointOfSale(deps, application, pointOfSaleId, known);
  const { identity, ids, baseUrl } = deps;
  const wanted = newApplicationOf(application, baseUrl);
  try {
    if (isPublic) {
      await identity.createPublicApplication(wanted);
      return undefined;
    }
    const clientSecret = known ?? ids.secret();
    return (await identity.createApplication({ ...wanted, clientSecret })).clientSecret;
  } catch (error) {
    if (!(error instanceof ProblemError) || error.code !== 'already_exists') throw error;
  }
  // The redirect URI follows the port in the settings, unless a user has changed the URI.
  const { organizationId: owner } = wanted;
  for (const uri of wanted.redirectUris) await identity.updateCallbackPort(owner, clientId, uri);
  if (isPublic) return undefined;
  // The database stores only a hash, so a lost demo.json requires a new secret.
  return known ?? (await identity.rotateSecret(owner, clientId)).clientSecret;
}
