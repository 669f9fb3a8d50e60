/** Shows the response of a request: status, duration, headers, body, and the error details. */
import { Link } from '@tanstack/react-router';
import { Icon } from '../../components/icon.tsx';
import { CodeBlock, indentJson } from '../../components/values/code-block.tsx';
import { StateBadge, type Tone } from '../../components/values/state-badge.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';
import type { ReceivedResponse } from './send-request.ts';
import '../../components/layout/error-message.css';

function toneOf(status: number): Tone {
  if (status >= 500) return 'bad';
  if (status >= 400) return 'warn';
  return 'good';
}

export function ResponseView({ answered }: { readonly answered: ReceivedResponse }) {
  const t = useTranslate('api-console');
  const formats = useFormats();
  const { status, tookMs, text, bytes, isCut, headers, problem } = answered;
  return (
    <section className="sy-ref-answered" aria-label={t('answer')} aria-live="polite">
      <div className="sy-ref-answered-head">
        <StateBadge state="" tone={toneOf(status)}>
          {status}
        </StateBadge>
        <span>{t('took', { ms: formats.number(tookMs) })}</span>
        <span>{t('bytes', { count: bytes, bytes: formats.number(bytes) })}</span>
      </div>
      {problem !== undefined && (
        <div className="sy-problem" role="alert">
          <Icon name="alert" size={20} />
          <div className="sy-problem-text">
            <p className="sy-problem-title">{problem.title}</p>
            <p className="sy-broken">{problem.detail}</p>
            {problem.errors !== undefined && problem.errors.length > 0 && (
              <ul>
                {problem.errors.map(({ pointer, detail }) => (
                  <li key={pointer + detail} className="sy-broken">
                    <code>{pointer}</code> {detail}
                  </li>
                ))}
              </ul>
            )}
            <p>
              {t(`outcomes.${problem.outcome}`)}{' '}
              {String(problem.code) !== '' && (
                <Link to="/console/errors" search={{ text: problem.code } as never}>
                  {problem.code}
                </Link>
              )}
            </p>
          </div>
        </div>
      )}
      {text === '' ? (
        <p className="sy-ref-hint">{t('noBody')}</p>
      ) : (
        <CodeBlock text={isCut ? text : indentJson(text)} label={t('answer')} isTall />
      )}
      {isCut && <p className="sy-ref-hint">{t('cut')}</p>}
      <details className="sy-ref-below">
        <summary>{t('answerHeaders')}</summary>
        <CodeBlock
          text={headers.map(([name, value]) => `${name}: ${value}`).join('\n')}
          label={t('answerHeaders')}
        />
      </details>
    </section>
  );
}
