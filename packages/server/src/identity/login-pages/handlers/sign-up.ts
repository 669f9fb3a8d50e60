// Handlers of the home page and of the form with which an organisation signs up.

import { SignUpInput } from '@switchyard/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Check } from 'typebox/schema';
import { fillTemplate } from '../../../platform/index.ts';
import type { FieldErrors } from '../html/form-fields.ts';
import { signUpPath, signUpReceivedPath, userDomainPath } from '../html/page-paths.ts';
import type { PageContext, PageContexts } from '../http/page-context.ts';
import type { PageResponses } from '../http/page-response.ts';
import { type PageTexts, requiredFieldText } from '../locales/page-texts.ts';
import { renderHomePage } from '../views/home.ts';
import { renderDonePage } from '../views/messages.ts';
import { renderSignUpPage, renderSignUpProgress, type SignUpFields } from '../views/sign-up.ts';

/** Implemented by onboarding: accepts the form as the API accepts its body. The result is the same for every sign-up. */
export type SubmitSignUp = (input: SignUpInput) => Promise<void>;

type Deps = {
  readonly contexts: PageContexts;
  readonly responses: PageResponses;
  readonly submitSignUp: SubmitSignUp;
  /** The address of the portal home page. */
  readonly portalUrl: string;
};

export type SignUpHandlers = ReturnType<typeof createSignUpHandlers>;

/** In the order of the form: errors are listed in this order, and the first field with an error gets the focus. */
const fieldNames = [
  'organizationName',
  'persona',
  'country',
  'givenName',
  'familyName',
  'email',
] as const;

/** The home page for API clients. */
const apiLinks = {
  name: 'Switchyard',
  links: {
    documentation: '/docs',
    openapi: '/openapi.json',
    signUp: signUpPath,
    account: userDomainPath,
  },
};

function readFields(body: Readonly<Record<string, string>>): SignUpFields {
  const entries = fieldNames.map((name) => [name, (body[name] ?? '').trim()]);
  return Object.fromEntries(entries) as SignUpFields;
}

/** Checks with the schema of the API; the texts are those of the page. */
function findFieldError(
  texts: PageTexts,
  name: (typeof fieldNames)[number],
  value: string,
): string | undefined {
  const { signUp } = texts;
  const schema = SignUpInput.properties[name];
  if (value === '') return requiredFieldText(texts, signUp[name]);
  const isValid: boolean = Check(schema, value);
  if (isValid) return undefined;
  const maxLength = (schema as { maxLength?: number }).maxLength;
  if (maxLength !== undefined && value.length > maxLength)
    return fillTemplate(signUp.tooLong, { label: signUp[name], max: maxLength });
  return name === 'email'
    ? signUp.invalidEmail
    : fillTemplate(signUp.invalid, { label: signUp[name] });
}

function findFieldErrors(texts: PageTexts, fields: SignUpFields): FieldErrors {
  const entries = fieldNames.map(
    (name) => [name, findFieldError(texts, name, fields[name])] as const,
  );
  return Object.fromEntries(entries.filter(([, error]) => error !== undefined)) as FieldErrors;
}

export function createSignUpHandlers({ contexts, responses, submitSignUp, portalUrl }: Deps) {
  function showForm(context: PageContext, fields: SignUpFields, errors: FieldErrors): FastifyReply {
    const token = contexts.csrfTokenOf(context, signUpPath);
    const view = renderSignUpPage(context.texts, {
      token,
      language: context.language,
      fields,
      errors,
    });
    return responses.sendPage(context, { ...view, status: view.hasErrors === true ? 422 : 200 });
  }

  return {
    async getHome(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      reply.header('vary', 'accept');
      const wantsHtml = (request.headers.accept ?? '').includes('text/html');
      if (!wantsHtml) return reply.header('cache-control', 'no-store').send(apiLinks);
      const context = contexts.create(request, reply);
      return responses.sendPage(context, renderHomePage(context.texts, portalUrl));
    },

    async getSignUp(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const context = contexts.create(request, reply);
      return showForm(context, readFields({}), {});
    },

    /** The same response whether the email address is known or not. */
    async postSignUp(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const context = contexts.create(request, reply);
      contexts.requireCsrfToken(context, signUpPath);
      const fields = readFields(context.request.body);
      const errors = findFieldErrors(context.texts, fields);
      if (Object.keys(errors).length > 0) return showForm(context, fields, errors);
      await submitSignUp({ ...(fields as SignUpInput), language: context.language });
      return responses.redirect(context, signUpReceivedPath);
    },

    async getSignUpReceived(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const context = contexts.create(request, reply);
      const { doneTitle, done, doneHint, doneSpam } = context.texts.signUp;
      const progress = renderSignUpProgress(context.texts, 'decision');
      const view = renderDonePage(doneTitle, [done, doneHint, doneSpam], undefined, progress);
      return responses.sendPage(context, view);
    },
  };
}
