// The errors of provisioning, with their codes and pointers.
import { type ErrorCode, type FieldError, throwProblem } from '@switchyard/contract';

/** The dependants of one kind: their total, and the first of them by name. */
export type Dependants = {
  readonly type: string;
  readonly total: number;
  readonly first: readonly { readonly id: string; readonly name: string }[];
};

export const noun = {
  merchant_not_found: 'merchant',
  store_not_found: 'store',
  device_not_found: 'device',
  organization_not_found: 'organisation',
  resource_not_found: 'resource',
  batch_not_found: 'import',
} as const satisfies Partial<Record<ErrorCode, string>>;

export type NotFoundCode = keyof typeof noun;

export function refuseUnknown(code: NotFoundCode): never {
  return throwProblem(code, `No ${noun[code]} in your scope has this identifier.`);
}

/** Refuses a member that fits the schema but is semantically wrong. */
export function refuseField(
  pointer: string,
  detail: string,
  code: ErrorCode = 'field_invalid',
): never {
  const error: FieldError = { pointer, code, detail };
  return throwProblem(code, `${pointer.slice(1)} ${detail}.`, { errors: [error] });
}

/** Refuses several members at once, each with its pointer. */
export function refuseFields(faults: readonly { pointer: string; detail: string }[]): never {
  const errors = faults.map((fault): FieldError => ({ ...fault, code: 'field_invalid' }));
  const told = errors.map(({ pointer, detail }) => `${pointer.slice(1)} ${detail}.`).join(' ');
  return throwProblem('field_invalid', told, { errors });
}

export function refuseTaken(member: string): never {
  return refuseField(`/${member}`, 'is taken by another one', 'already_exists');
}

export function refuseDependants(dependants: readonly Dependants[]): never {
  const counted = dependants.map(({ type, total }) => `${total} × ${type}`).join(', ');
  const named = dependants.flatMap(({ type, first }) => first.map((one) => ({ type, ...one })));
  return throwProblem('has_dependants', `Still depending on it: ${counted}.`, {
    extensions: { dependants: named },
  });
}

export function refuseMerchantCaller(what: string): never {
  return throwProblem('permission_denied', `Only the organisation ${what}.`);
}
