/** The addresses of the user domain, and the call by which this application gets a token. */
import type { Application } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { Problem } from '../../components/layout/error-message.tsx';
import { Facts, Panel } from '../../components/layout/page.tsx';
import { CodeBlock } from '../../components/values/code-block.tsx';
import { CopyText } from '../../components/values/copy-text.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';
import { ownerOf } from './application-kinds.ts';
import { type Addresses, tokenCalls } from './token-commands.ts';

export function TokenHelp({ application }: { readonly application: Application }) {
  const t = useTranslate('applications');
  const { userDomainId } = useSession();
  const { data, error, refetch } = useQuery({
    queryKey: ['realm', userDomainId],
    queryFn: ({ signal }) =>
      api.get<Addresses>(`/auth/realms/${userDomainId}/.well-known/openid-configuration`, {
        signal,
      }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (error !== null) return <Problem fault={error} onRetry={() => void refetch()} />;
  if (data === undefined) return null;
  const calls = tokenCalls(application, data, ownerOf(application) === 'devices');
  return (
    <Panel title={t('panels.token')}>
      <div className="sy-app-token">
        <Facts
          items={[
            [t('issuer'), <CopyText key="i" text={data.issuer} label={t('issuer')} />],
            [
              t('tokenAddress'),
              <CopyText key="t" text={data.token_endpoint} label={t('tokenAddress')} />,
            ],
            ...(application.securityFlows.includes('AuthorizationCode')
              ? [
                  [
                    t('signInAddress'),
                    <CopyText
                      key="a"
                      text={data.authorization_endpoint}
                      label={t('signInAddress')}
                    />,
                  ] as const,
                ]
              : []),
          ]}
        />
        {calls.map(({ name, text }) => (
          <div key={name} className="sy-app-call">
            <h3>{t(`calls.${name}`)}</h3>
            <CodeBlock text={text} label={t(`calls.${name}`)} />
          </div>
        ))}
      </div>
    </Panel>
  );
}
