/** Onboarding: from a sign-up to the first user of an organisation. */
import { type Static, Type } from 'typebox';
import { closed, identifier, shortText } from '../values-and-problems/resource-schemas.ts';
import { Timestamp, wordOf } from '../values-and-problems/value-schemas.ts';

/**
 * Names in emails contain no character of a link. After a full stop there is never a letter.
 *
 * @example
 * new RegExp(mailNamePattern, 'u').test('Anne-Marie O’Neil Jr.');
 */
export const mailNamePattern =
  "^['’]?\\p{L}(?:[\\p{L}\\p{M}\\p{Nd} '’‐-]|\\.+(?:[\\p{M}\\p{Nd} '’‐-]|$))*$";

/**
 * The length limit of a name in an email, in characters.
 *
 * @example
 * if (name.length > mailNameLengthMax) reject();
 */
export const mailNameLengthMax = 60;

const mailName = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: mailNameLengthMax,
    pattern: mailNamePattern,
    description: `${description} Letters, digits, spaces, hyphens, apostrophes, and full stops that no letter follows.`,
  });

const facts = {
  organizationName: shortText(100, 'The name of the organisation.'),
  persona: wordOf(['Acquirer', 'ServiceProvider'], {
    description: 'The role of the organisation.',
  }),
  email: Type.String({
    maxLength: 254,
    pattern: "^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$",
    description: 'Where the link to the first password is sent.',
    examples: ['ann.carter@acquirer.example'],
  }),
  givenName: mailName('Given name of the first user.'),
  familyName: mailName('Family name of the first user.'),
  country: Type.String({
    pattern: '^[A-Z]{2}$',
    description: 'The country, alpha-2 of ISO 3166-1.',
    examples: ['FR'],
  }),
  language: Type.Optional(
    Type.String({
      pattern: '^[a-z]{2}(?:-[A-Z]{2})?$',
      description: 'The language of the first user (ISO 639-1), with a country where wanted.',
      examples: ['fr'],
    }),
  ),
};

/**
 * The body of a sign-up: a request for an organisation on the platform.
 *
 * @example
 * const body: SignUpInput = { organizationName, persona: 'Acquirer', email, givenName, familyName, country };
 */
export const SignUpInput = closed(facts, 'A request for an organisation.');
export type SignUpInput = Static<typeof SignUpInput>;

/**
 * The response to every sign-up, for known and unknown email addresses.
 *
 * @example
 * const { status } = (await response.json()) as SignUpReceipt;
 */
export const SignUpReceipt = closed(
  { status: wordOf(['Received']) },
  'The sign-up arrived; its answer comes by mail.',
);

/**
 * A sign-up for the operator of the platform.
 *
 * @example
 * const signUp = (await response.json()) as SignUp;
 */
export const SignUp = closed(
  {
    signUpId: identifier('The sign-up.'),
    ...facts,
    status: wordOf(['Pending', 'Approving', 'Approved', 'Rejected'], {
      description:
        '`Approving`: the organisation is being made; `Approved`: the mail is under way.',
    }),
    organizationId: Type.Optional(identifier('The organisation, once approved.')),
    userDomainId: Type.Optional(
      Type.String({ description: 'Its user domain, once made.', examples: ['northgate'] }),
    ),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  'A request for an organisation, and what became of it.',
);
export type SignUp = Static<typeof SignUp>;

/**
 * The first password; the user chooses it after the link in the email.
 *
 * @example
 * const body: UserActivationInput = { password: 'nine tills under one long roof' };
 */
export const UserActivationInput = closed(
  {
    password: Type.String({
      minLength: 1,
      maxLength: 1024,
      description: 'At least 15 characters, or 12 with a second factor; no common one.',
      examples: ['nine tills under one long roof'],
    }),
  },
  'The first password.',
);

/**
 * The sign-in data of a new user; `oneTimePassword` is present if a second factor must be set up.
 *
 * @example
 * const { oneTimePassword } = (await response.json()) as UserActivation;
 */
export const UserActivation = closed(
  {
    userDomainId: Type.String({ description: 'The user domain.', examples: ['northgate'] }),
    organizationId: identifier('The organisation.'),
    userId: identifier('The user.'),
    username: Type.String({ description: 'The user name.', examples: ['ann.carter'] }),
    oneTimePassword: Type.Optional(
      closed(
        {
          secret: Type.String({
            description: 'The secret in base32.',
            examples: ['JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'],
          }),
          uri: Type.String({
            description: 'The same as an otpauth address, for a QR code.',
            examples: ['otpauth://totp/Switchyard:ann?secret=JBSWY3DPEHPK3PXP'],
          }),
        },
        'The data for an authenticator application; the platform returns it only once.',
      ),
    ),
  },
  'An activated user.',
);
export type UserActivation = Static<typeof UserActivation>;

/**
 * The code that proves that the user has the secret.
 *
 * @example
 * const body = { code: '123456' };
 */
export const UserActivationCode = closed(
  {
    code: Type.String({
      pattern: '^[0-9]{6}$',
      description: 'The code that the authenticator application shows.',
      examples: ['123456'],
    }),
  },
  'A one-time password.',
);

/**
 * Ten recovery codes for a lost phone, shown only once.
 *
 * @example
 * const { recoveryCodes } = await response.json();
 */
export const UserRecoveryCodes = closed(
  {
    recoveryCodes: Type.Array(Type.String({ examples: ['ABCDE-FGHJK'] }), {
      description: 'Each is good once, in place of a code.',
    }),
  },
  'Recovery codes.',
);

/**
 * The filters of the list of sign-ups, in addition to `limit` and `cursor`.
 *
 * @example
 * Type.Object({ ...pageQuery, ...signUpFilters });
 */
export const signUpFilters = {
  status: Type.Optional(wordOf(['Pending', 'Approving', 'Approved', 'Rejected'])),
};
