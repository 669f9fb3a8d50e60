/** Shows an error with the texts of the platform and the request ID for the logs. */
import { Button } from '@mantine/core';
import { ConnectionError, isProblem, SignedOutError } from '../../api/api-errors.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { Icon } from '../icon.tsx';
import './error-message.css';

function titleOf(fault: unknown, t: Translate): string {
  if (fault instanceof ConnectionError) return t('problem.noAnswer');
  if (fault instanceof SignedOutError) return t('problem.signedOut');
  if (!isProblem(fault)) return t('problem.ours');
  if (fault.problem.status === 403) return t('problem.forbidden');
  if (fault.problem.status === 404) return t('problem.notFound');
  return fault.problem.title;
}

function detailOf(fault: unknown, t: Translate): string {
  if (fault instanceof ConnectionError) return t('problem.noAnswerDetail');
  if (fault instanceof SignedOutError) return t('problem.signedOutDetail');
  if (!isProblem(fault)) return fault instanceof Error ? fault.message : '';
  if (fault.problem.status === 403) return t('problem.forbiddenDetail');
  return fault.problem.detail;
}

export function ErrorMessage({
  fault,
  onRetry,
  /** Fields that show their own error, so it is not repeated here. */
  inlineErrorFields = [],
}: {
  readonly fault: unknown;
  readonly onRetry?: (() => void) | undefined;
  readonly inlineErrorFields?: readonly string[];
}) {
  const t = useTranslate('components');
  const problem = isProblem(fault) ? fault.problem : undefined;
  const lines = (problem?.errors ?? []).filter(
    ({ pointer }) => !inlineErrorFields.includes(pointer.replace(/^[/?]/, '').replaceAll('/', '.')),
  );
  return (
    <div className="sy-problem" role="alert">
      <Icon name="alert" size={20} />
      <div className="sy-problem-text">
        <p className="sy-problem-title">{titleOf(fault, t)}</p>
        <p className="sy-broken">{detailOf(fault, t)}</p>
        {lines.length > 0 && (
          <ul>
            {lines.map(({ pointer, detail }) => (
              <li key={pointer + detail} className="sy-broken">
                <code>{pointer}</code> {detail}
              </li>
            ))}
          </ul>
        )}
        {problem?.outcome === 'Unknown' && <p>{t('problem.unknownOutcome')}</p>}
        {problem !== undefined && problem.requestId !== '' && (
          <p className="sy-problem-request sy-broken">
            {problem.code} · {t('problem.request')} <code>{problem.requestId}</code>
          </p>
        )}
        {onRetry !== undefined && (
          <Button variant="default" size="xs" mt="xs" onClick={onRetry}>
            {t('problem.retry')}
          </Button>
        )}
      </div>
    </div>
  );
}
