// Server.java
package interop;

import java.util.List;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.security.oauth2.server.authorization.OAuth2TokenType;
import org.springframework.security.oauth2.server.authorization.authentication.OAuth2TokenExchangeAuthenticationToken;
import org.springframework.security.oauth2.server.authorization.token.JwtEncodingContext;
import org.springframework.security.oauth2.server.authorization.token.OAuth2TokenCustomizer;

@SpringBootApplication
public class Server {
  public static void main(String[] args) {
    SpringApplication.run(Server.class, args);
  }

  /** Sets `aud`: without it, every access token is for its client. */
  @Bean
  OAuth2TokenCustomizer<JwtEncodingContext> audience() {
    return context -> {
      if (!OAuth2TokenType.ACCESS_TOKEN.equals(context.getTokenType())) return;
      if (context.getAuthorizationGrant() instanceof OAuth2TokenExchangeAuthenticationToken exchange) {
        context.getClaims().audience(List.copyOf(exchange.getAudiences()));
      } else if (context.getAuthorizedScopes().contains("mcp")) {
        context.getClaims().audience(List.of("http://127.0.0.1:4483/mcp"));
      }
    };
  }
}
