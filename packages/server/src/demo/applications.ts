// The applications of the demo environment: each is made once, with a secret that demo.json keeps.
import { Refusal } from '@switchyard/contract';
import type { Identity } from '../identity/index.ts';
import type { Ids } from '../platform/index.ts';
import {
  type DemoApplication,
  demoApplications,
  demoUserDomainId,
  organizationId,
} from './catalogue.ts';

/** By client identifier. */
export type Secrets = ReadonlyMap<string, string>;

type Deps = {
  readonly identity: Pick<Identity, 'createUserDomain' | 'createApplication' | 'renewSecret'>;
  readonly ids: Ids;
};

/** Makes the user domain and what is missing in it; the known secrets stay as they are. */
export async function seedApplications(deps: Deps, known: Secrets): Promise<Secrets> {
  await deps.identity.createUserDomain({ userDomainId: demoUserDomainId, organizationId });
  const secrets = new Map<string, string>();
  for (const application of demoApplications) {
    const { clientId } = application;
    secrets.set(clientId, await seedApplication(deps, application, known.get(clientId)));
  }
  return secrets;
}

async function seedApplication(
  { identity, ids }: Deps,
  application: DemoApplication,
  known: string | undefined,
): Promise<string> {
  const { clientId, merchantId, storeId, role } = application;
  try {
    const { clientSecret } = await identity.createApplication({
      organizationId,
      userDomainId: demoUserDomainId,
      clientId,
      clientSecret: known ?? ids.secret(),
      name: application.name,
      entityType: merchantId === undefined ? 'tenant' : 'merchant',
      entityId: merchantId ?? organizationId,
      merchantId,
      storeId,
      roles: [role],
      securityFlows: ['ClientCredentials'],
      type: application.type ?? 'Application',
    });
    return clientSecret;
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'already_exists') throw error;
  }
  // Its secret is kept as a hash: where demo.json was lost, only a new one can be told.
  return known ?? (await identity.renewSecret(organizationId, clientId)).clientSecret;
}
