// Selects, from all errors of a failed anyOf or oneOf, the errors of the branch that the client intended.
import { defined } from '@switchyard/contract';
import type { ErrorObject } from 'ajv/dist/2020.js';

const unionKeywords = new Set(['anyOf', 'oneOf']);

/**
 * For each failed union, keeps the errors of one branch or one error of the whole union. Ajv lists the
 * errors of the branches before the error of the union, inner unions first.
 */
export function selectUnionErrors(validationErrors: readonly ErrorObject[]): ErrorObject[] {
  let errors = validationErrors.filter(
    (error) => error.propertyName === undefined && error.keyword !== 'if',
  );
  for (const choice of validationErrors) {
    if (unionKeywords.has(choice.keyword) && errors.includes(choice))
      errors = selectErrors(choice, errors);
  }
  return errors;
}

function selectErrors(choice: ErrorObject, errors: readonly ErrorObject[]): ErrorObject[] {
  const within = `${choice.schemaPath}/`;
  const branches = new Map<string, ErrorObject[]>();
  for (const error of errors) {
    if (!error.schemaPath.startsWith(within)) continue;
    const branch = error.schemaPath.slice(within.length).split('/', 1)[0] ?? '';
    branches.set(branch, [...(branches.get(branch) ?? []), error]);
  }
  const intended = intendedBranch(choice, [...branches.values()]);
  const selected = intended ?? [errorOfChoice(choice, [...branches.values()].flat())];
  return errors.flatMap((error) => {
    if (error === choice) return selected;
    return error.schemaPath.startsWith(within) ? [] : [error];
  });
}

/** The only branch whose type and constant members match. */
function intendedBranch(choice: ErrorObject, branches: ErrorObject[][]): ErrorObject[] | undefined {
  const fitting = branches.filter((branch) => !branch.some((error) => isMismatch(choice, error)));
  return fitting.length === 1 ? fitting[0] : undefined;
}

function isMismatch(choice: ErrorObject, error: ErrorObject): boolean {
  if (error.instancePath === choice.instancePath) {
    return ['type', 'const', 'enum'].includes(error.keyword);
  }
  if (error.keyword !== 'const') return false;
  return !error.instancePath.slice(choice.instancePath.length + 1).includes('/');
}

/** When all branches fail at the same constant member, that member is the error. */
function errorOfChoice(choice: ErrorObject, errors: readonly ErrorObject[]): ErrorObject {
  const constants = errors.filter(({ keyword }) => keyword === 'const' || keyword === 'enum');
  const [first] = constants;
  const isShared = constants.every(({ instancePath }) => instancePath === first?.instancePath);
  if (first === undefined || !isShared) return choice;
  const allowedValues = constants.flatMap(
    ({ params }) => params['allowedValues'] ?? [params['allowedValue']],
  );
  const parentSchema =
    first.instancePath === choice.instancePath ? choice.parentSchema : first.parentSchema;
  return {
    ...first,
    keyword: 'enum',
    params: { allowedValues },
    ...defined({ parentSchema }),
  };
}
