// The errors of provisioning, with their codes and pointers.
import { type ErrorCode, type FieldError, throwProblem } from '@switchyard/contract';

/** The dependants of one kind: their total, and the first of them by name. */
export type DependantGroup = {
  readonly type: string;
  readonly total: number;
  readonly first: readonly { readonly id: string; readonly name: string }[];
};

export const entityNouns = {
  merchant_not_found: 'merchant',
  store_not_found: 'store',
  device_not_found: 'device',
  organization_not_found: 'organisation',
  resource_not_found: 'resource',
  batch_not_found: 'import',
} as const satisfies Partial<Record<ErrorCode, string>>;

export type NotFoundCode = keyof typeof entityNouns;

export function throwNotFound(code: NotFoundCode): never {
  return throwProblem(code, `No ${entityNouns[code]} that you may see has this identifier.`);
}

/** Refuses a member that fits the schema but is semantically wrong. */
export function throwFieldProblem(
  pointer: string,
  detail: string,
  code: ErrorCode = 'field_invalid',
): never {
  const error: FieldError = { pointer, code, detail };
  return throwProblem(code, `${pointer.slice(1)} ${detail}.`, { errors: [error] });
}

/** Refuses several members at once, each with its pointer. */
export function throwFieldProblems(faults: readonly { pointer: string; detail: string }[]): never {
  const errors = faults.map((fault): FieldError => ({ ...fault, code: 'field_invalid' }));
  const details = errors.map(({ pointer, detail }) => `${pointer.slice(1)} ${detail}.`).join(' ');
  return throwProblem('field_invalid', details, { errors });
}

export function throwAlreadyExists(member: string): never {
  return throwFieldProblem(`/${member}`, 'is already in use', 'already_exists');
}

export function throwHasDependants(dependants: readonly DependantGroup[]): never {
  const counts = dependants.map(({ type, total }) => `${total} × ${type}`).join(', ');
  const listed = dependants.flatMap(({ type, first }) => first.map((one) => ({ type, ...one })));
  return throwProblem(
    'has_dependants',
    `Other entities depend on it: ${counts}. Delete or move them first.`,
    {
      extensions: { dependants: listed },
    },
  );
}

export function throwOrganizationOnly(action: string): never {
  return throwProblem(
    'permission_denied',
    `Only a token of the organisation ${action}; your token belongs to a merchant.`,
  );
}
