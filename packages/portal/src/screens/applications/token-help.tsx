/** Shows the token endpoints of the user domain and the commands for this application. */
import type { Application } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { DescriptionList, Panel } from '../../components/layout/page.tsx';
import { CodeBlock } from '../../components/values/code-block.tsx';
import { CopyableText } from '../../components/values/copy-text.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';
import { applicationOwner } from './application-kinds.ts';
import { type TokenEndpoints, tokenCommands } from './token-commands.ts';

export function TokenHelp({ application }: { readonly application: Application }) {
  const t = useTranslate('applications');
  const { userDomainId } = useSession();
  const { data, error, refetch } = useQuery({
    queryKey: ['realm', userDomainId],
    queryFn: ({ signal }) =>
      api.get<TokenEndpoints>(`/auth/realms/${userDomainId}/.well-known/openid-configuration`, {
        signal,
      }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (error !== null) return <ErrorMessage fault={error} onRetry={() => void refetch()} />;
  if (data === undefined) return null;
  const calls = tokenCommands(application, data, applicationOwner(application) === 'devices');
  return (
    <Panel title={t('panels.token')}>
      <div className="sy-app-token">
        <DescriptionList
          items={[
            [t('issuer'), <CopyableText key="i" text={data.issuer} label={t('issuer')} />],
            [
              t('tokenAddress'),
              <CopyableText key="t" text={data.token_endpoint} label={t('tokenAddress')} />,
            ],
            ...(application.securityFlows.includes('AuthorizationCode')
              ? [
                  [
                    t('signInAddress'),
                    <CopyableText
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
