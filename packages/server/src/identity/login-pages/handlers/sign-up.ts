// The front of the house: what stands here, and the form by which an organisation asks to come in.
import { SignUpInput } from '@switchyard/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Check } from 'typebox/schema';
import type { Faults } from '../html/form-fields.ts';
import { entryPath, signedUpPath, signUpPath } from '../html/page-paths.ts';
import type { Words } from '../locales/languages.ts';
import type { Visit, Visits } from '../requests/page-context.ts';
import type { Answers } from '../requests/page-response.ts';
import { doneView } from '../views/messages.ts';
import { homeView, type SignUpFields, signUpView } from '../views/sign-up.ts';
import { trail } from '../views/sign-up-progress.ts';

/** Onboarding's: takes the form as the API takes its body, and tells nothing. */
export type TakeSignUp = (input: SignUpInput) => Promise<void>;

type Deps = {
  readonly visits: Visits;
  readonly answers: Answers;
  readonly take: TakeSignUp;
  /** The address of the portal's first page. */
  readonly portalAt: string;
};

export type Front = ReturnType<typeof createFront>;

/** In the order of the form: so its faults are told, and the first of them is where one types. */
const names = [
  'organizationName',
  'persona',
  'country',
  'givenName',
  'familyName',
  'email',
] as const;

/** For programs: where everything is found. */
const signposts = {
  name: 'Switchyard',
  links: {
    documentation: '/docs',
    openapi: '/openapi.json',
    signUp: signUpPath,
    account: entryPath,
  },
};

function typed(body: Readonly<Record<string, string>>): SignUpFields {
  const entries = names.map((name) => [name, (body[name] ?? '').trim()]);
  return Object.fromEntries(entries) as SignUpFields;
}

/** The schema of the API decides; the page says it in its own words. */
function faultOf(words: Words, name: (typeof names)[number], value: string): string | undefined {
  const { signUp, required } = words;
  const schema = SignUpInput.properties[name];
  if (value === '') return required(signUp[name]);
  const isGood: boolean = Check(schema, value);
  if (isGood) return undefined;
  const most = (schema as { maxLength?: number }).maxLength;
  if (most !== undefined && value.length > most) return signUp.tooLong(signUp[name], most);
  return name === 'email' ? signUp.emailForm : signUp.unusable(signUp[name]);
}

function faultsOf(words: Words, fields: SignUpFields): Faults {
  const found = names.map((name) => [name, faultOf(words, name, fields[name])] as const);
  return Object.fromEntries(found.filter(([, fault]) => fault !== undefined)) as Faults;
}

export function createFront({ visits, answers, take, portalAt }: Deps) {
  function show(visit: Visit, fields: SignUpFields, faults: Faults): FastifyReply {
    const token = visits.tokenOf(visit, signUpPath);
    const view = signUpView(visit.words, { token, language: visit.language, fields, faults });
    return answers.page(visit, { ...view, status: view.isFaulty === true ? 422 : 200 });
  }

  return {
    async getHome(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      reply.header('vary', 'accept');
      const isRead = (request.headers.accept ?? '').includes('text/html');
      if (!isRead) return reply.header('cache-control', 'no-store').send(signposts);
      const visit = visits.open(request, reply);
      return answers.page(visit, homeView(visit.words, portalAt));
    },

    async getSignUp(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const visit = visits.open(request, reply);
      return show(visit, typed({}), {});
    },

    /** The same way on whether the address is known or not. */
    async postSignUp(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const visit = visits.open(request, reply);
      visits.demandForm(visit, signUpPath);
      const fields = typed(visit.request.body);
      const faults = faultsOf(visit.words, fields);
      if (Object.keys(faults).length > 0) return show(visit, fields, faults);
      await take({ ...(fields as SignUpInput), language: visit.language });
      return answers.goTo(visit, signedUpPath);
    },

    async getSignedUp(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const visit = visits.open(request, reply);
      const { doneTitle, done, doneHint, doneSpam } = visit.words.signUp;
      const above = trail(visit.words, 'answer');
      const view = doneView(doneTitle, [done, doneHint, doneSpam], undefined, above);
      return answers.page(visit, view);
    },
  };
}
