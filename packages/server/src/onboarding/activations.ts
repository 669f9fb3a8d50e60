// Follows a mailed link by API: the first password, then a second factor where one is needed.
import { Refusal, refuse, type UserActivation } from '@switchyard/contract';
import type { Identity, User } from '../identity/index.ts';

export type Activations = ReturnType<typeof createActivations>;

type Origin = Parameters<Identity['accounts']['confirmOtp']>[2];

function refuseLink(): never {
  return refuse('resource_not_found', 'The link is used, expired or not one of ours.');
}

/** The policy speaks of the password, which here is a member of the body. */
function withPointer(error: unknown): never {
  if (!(error instanceof Refusal) || error.code !== 'field_invalid') throw error;
  const { detail } = error;
  throw new Refusal(error.code, detail, {
    errors: [{ pointer: '/password', code: error.code, detail }],
  });
}

export function createActivations({
  accounts,
  findUserDomain: userDomainOf,
}: Pick<Identity, 'accounts' | 'findUserDomain'>) {
  const { links } = accounts;

  async function domainOf({ organizationId }: User): Promise<string> {
    return (await userDomainOf(organizationId)) ?? refuseLink();
  }

  return {
    async activate(token: string, password: string): Promise<UserActivation> {
      const organizationId = (await links.organizationOf(token)) ?? refuseLink();
      const opened = await links.open(organizationId, token);
      if (opened?.purpose !== 'activate') return refuseLink();
      const user =
        (await links.use(organizationId, token, password).catch(withPointer)) ?? refuseLink();
      const { userId, username, secondFactor } = user;
      const facts = { userDomainId: await domainOf(user), organizationId, userId, username };
      if (secondFactor !== 'Required') return facts;
      return { ...facts, oneTimePassword: await accounts.beginOtp(user, token) };
    },

    /** Good for an hour after the password was set, and until a code was right. */
    async confirm(token: string, code: string, origin: Origin): Promise<string[]> {
      const organizationId = (await links.organizationOf(token)) ?? refuseLink();
      const user = (await links.activated(organizationId, token)) ?? refuseLink();
      const confirmed = await accounts.confirmOtp(user, code, origin, { isFirst: true });
      if (confirmed !== undefined) return confirmed.recoveryCodes;
      const detail = 'is not the code of now';
      const wrong = { pointer: '/code', code: 'field_invalid', detail };
      return refuse('field_invalid', `code ${detail}.`, { errors: [wrong] });
    },
  };
}
