// Activation of a user by API with the link from the invitation: set the first password, then the second factor.
import { ProblemError, throwProblem, type UserActivation } from '@switchyard/contract';
import type { Identity, User } from '../identity/index.ts';

export type UserActivations = ReturnType<typeof createUserActivations>;

type AttemptOrigin = Parameters<Identity['accounts']['confirmOtpEnrolment']>[2];

function throwLinkNotFound(): never {
  return throwProblem(
    'resource_not_found',
    'The activation link is unknown, used or expired. Ask your administrator for a new invitation.',
  );
}

/** Adds the pointer of the member `password` to an error of the password policy. */
function rethrowWithPointer(error: unknown): never {
  if (!(error instanceof ProblemError) || error.code !== 'field_invalid') throw error;
  const { detail } = error;
  throw new ProblemError(error.code, detail, {
    errors: [{ pointer: '/password', code: error.code, detail }],
  });
}

export function createUserActivations({
  accounts,
  userDomains,
}: Pick<Identity, 'accounts' | 'userDomains'>) {
  const { emailLinks: links } = accounts;

  async function requireUserDomainId({ organizationId }: User): Promise<string> {
    return (await userDomains.findByOrganization(organizationId)) ?? throwLinkNotFound();
  }

  return {
    async activate(token: string, password: string): Promise<UserActivation> {
      const organizationId = (await links.findOrganizationId(token)) ?? throwLinkNotFound();
      const link = await links.find(organizationId, token);
      if (link?.purpose !== 'activate') return throwLinkNotFound();
      const user =
        (await links.redeem(organizationId, token, password).catch(rethrowWithPointer)) ??
        throwLinkNotFound();
      const { userId, username, secondFactor } = user;
      const activation = {
        userDomainId: await requireUserDomainId(user),
        organizationId,
        userId,
        username,
      };
      if (secondFactor !== 'Required') return activation;
      return { ...activation, oneTimePassword: await accounts.beginOtpEnrolment(user, token) };
    },

    /** Allowed for one hour after the password was set, until a code is confirmed. */
    async confirm(token: string, code: string, origin: AttemptOrigin): Promise<string[]> {
      const organizationId = (await links.findOrganizationId(token)) ?? throwLinkNotFound();
      const user = (await links.findActivatedUser(organizationId, token)) ?? throwLinkNotFound();
      const confirmed = await accounts.confirmOtpEnrolment(user, code, origin, {
        isFirstFactor: true,
      });
      if (confirmed !== undefined) return confirmed.recoveryCodes;
      const detail = 'is not the current one-time code';
      const codeError = { pointer: '/code', code: 'field_invalid', detail };
      return throwProblem('field_invalid', `code ${detail}.`, { errors: [codeError] });
    },
  };
}
